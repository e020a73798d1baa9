"""Names of members that servers without regard to case take for one another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.member_names import (
    all_folded,
    any_has,
    first_alike,
    folded,
    refuse_names_alike,
    refuse_other_spellings,
    spellings,
)

_NAMES = spellings("name", "tasks", "taskId", "_meta", "inputResponses", "link")


@pytest.mark.parametrize(
    "name",
    [
        *("Name", "NAME", "taskid", "TaskID", "_Meta", "inputresponses"),
        "ta\u017fks",  # Go: the long s is an s
        "tas\u212as",  # and the Kelvin sign a k
        *("L\u0130NK", "l\u0131nk"),  # Turkish upper and lower case of i and I
    ],
)
@pytest.mark.parametrize("beside", [{}, {"name": "x", "taskId": "y"}])
def test_another_spelling_is_refused(name: str, beside: JsonObject) -> None:
    with pytest.raises(AmbiguousRequestError, match="the call can be read in more than one way") as caught:
        refuse_other_spellings({**beside, name: "evil"}, _NAMES, within="call")
    assert caught.value.details == {"field": "body"}


@pytest.mark.parametrize(
    "holder",
    [{}, {"name": 1, "taskId": 2, "_meta": {"Name": 3}}, {"names": 1, "task_id": 2, "na me": 3, "": 4}, ["Name"], None],
)
def test_other_names_are_left(holder: JsonValue) -> None:
    refuse_other_spellings(holder, _NAMES, within="call")


def test_a_long_name_is_cut_in_the_message() -> None:
    with pytest.raises(AmbiguousRequestError) as caught:
        refuse_names_alike({"x" * 1_000: 1, "X" * 1_000: 2}, within="call")
    assert len(caught.value.message) < 300


def test_names_alike() -> None:
    assert first_alike(["a", "b", "A"]) == ("a", "A")
    assert first_alike(["a", "b", "aa"]) is None
    refuse_names_alike({"a": 1, "b": {"A": 2}}, within="call")
    with pytest.raises(AmbiguousRequestError, match="repo and Repo for one"):
        refuse_names_alike({"repo": "ok", "Repo": "evil"}, within="call")


def test_folding_agrees_with_the_simple_folding_of_ascii_letters() -> None:
    """Of the basic plane, all that folds to an ASCII letter. Go has the last two (``unicode.SimpleFold``)."""
    found = {character for code in range(0x80, 0x10000) if len(folded(character := chr(code))) == 1}
    assert {one for one in found if folded(one).isascii()} == {"\u0130", "\u0131", "\u017f", "\u212a"}


_SPELLINGS = ["Method", "re\u017fult", "\u212aey", "_METHOD", "\u0130d"]


@given(st.lists(st.text(max_size=8) | st.sampled_from(_SPELLINGS), max_size=6))
def test_names_are_folded_together_as_each_by_itself(names: list[str]) -> None:
    assert all_folded(names) == {folded(name) for name in names}
    assert any_has(names, "method") >= any("method" in folded(name) for name in names)
