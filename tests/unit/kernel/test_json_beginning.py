"""What lists read of a large request."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.kernel.json_beginning import read_beginning

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.text(max_size=4), _VALUES, max_size=4)


def _canonical(value: object) -> str:
    return canonical_bytes(parse_strict(json.dumps(value).encode())).decode()


@given(_OBJECTS)
def test_a_whole_object_is_read_whole(value: dict[str, object]) -> None:
    assert read_beginning(_canonical(value)) == (value, True)


@given(_OBJECTS, st.data())
def test_a_cut_object_says_nothing_that_is_not_there(value: dict[str, object], data: st.DataObject) -> None:
    text = _canonical(value)
    found, is_whole = read_beginning(text[: data.draw(st.integers(0, len(text) - 1))])
    assert not is_whole
    _assert_within(found, value, levels=2)


def _assert_within(found: dict[str, object], value: dict[str, object], *, levels: int) -> None:
    for name, one in found.items():
        whole = value[name]
        if one != whole:
            assert levels > 1
            assert isinstance(one, dict)
            assert isinstance(whole, dict)
            _assert_within(one, whole, levels=levels - 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"http":{"host":"a"},"params":{"amount":12,"rows":[1,2', {"http": {"host": "a"}, "params": {"amount": 12}}),
        ('{"params":{"amount":12', {"params": {}}),  # 12 may be the beginning of 125
        ('{"params":{"body":{"a":1,"b":', {"params": {}}),
        ('{"params":{"body":{}},"x":', {"params": {"body": {}}}),
        ('{"par', {}),
        ("", {}),
        ('{"a":' + "[" * 100_000, {}),
        ('{"a":' + '{"a":' * 100_000, {"a": {}}),
    ],
)
def test_what_is_left_of_a_cut_one(text: str, found: dict[str, object]) -> None:
    assert read_beginning(text) == (found, False)
