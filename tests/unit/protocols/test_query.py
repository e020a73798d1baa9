"""Query strings and form bodies: one reading."""

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.protocols.query import FIELDS_MAX, Pairs, lists_by_name, parse_pairs

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
_NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]\0 "), min_size=1, max_size=10)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("a", (("a", ""),)),
        ("a=", (("a", ""),)),
        ("a=1&b=2&a=3", (("a", "1"), ("b", "2"), ("a", "3"))),
        ("a=b=c", (("a", "b=c"),)),
        ("&&a=1&", (("a", "1"),)),
        ("a+b=c%20d%2Be", (("a b", "c d+e"),)),
        ("a=%e2%82%ac", (("a", "€"),)),
    ],
)
def test_pairs(text: str, expected: Pairs) -> None:
    assert parse_pairs(text, field="query") == expected


@pytest.mark.parametrize("text", ["a=100%", "%zz", "a=%ff", "a=é", "a b", "a#b", "a\n", "a=%ed%a0%80"])
def test_ambiguous_texts_are_refused(text: str) -> None:
    with pytest.raises(AmbiguousRequestError) as caught:
        parse_pairs(text, field="query")
    assert caught.value.details == {"field": "query"}


@given(st.lists(st.tuples(_NAME, _TEXT), max_size=6))
def test_what_a_client_encodes_reads_back(pairs: list[tuple[str, str]]) -> None:
    assert parse_pairs(urlencode(pairs), field="query") == tuple(pairs)


@given(st.text(max_size=30))
def test_arbitrary_text_raises_nothing_else(text: str) -> None:
    try:
        pairs = parse_pairs(text, field="query")
    except AmbiguousRequestError:
        return
    assert parse_pairs(urlencode(pairs), field="query") == pairs


def test_no_value_is_lost() -> None:
    assert lists_by_name([("a", "1"), ("b", "2"), ("a", "1")]) == {"a": ["1", "1"], "b": ["2"]}


def test_more_members_than_anybody_takes_are_refused_before_they_are_read() -> None:
    assert len(parse_pairs("a&" * (FIELDS_MAX - 1) + "a", field="body")) == FIELDS_MAX
    with pytest.raises(PayloadTooLargeError):
        parse_pairs("a&" * FIELDS_MAX, field="body")
