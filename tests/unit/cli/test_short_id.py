"""Ids that are typed in part."""

import pytest

from headgate.cli.short_id import is_short, is_whole, matching, the_one
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix

ONE = "apr_01a20aca-580f-7b4c-a709-d32fa3c114a9"
TWO = "apr_01a20aca-5857-7382-8cbd-316c21d23cdf"
IDS = (ONE, TWO)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("apr_01a2…14a9", [ONE]),  # as a table shows it
        ("01a2...14a9", [ONE]),
        ("apr_01a20aca-580", [ONE]),
        ("01a20aca-5857", [TWO]),
        ("3cdf", [TWO]),
        ("apr_3cdf", []),  # with its type it is the beginning
        ("01a2", [ONE, TWO]),
        ("01a2…", [ONE, TWO]),
        ("ffff", []),
    ],
)
def test_what_a_part_stands_for(typed: str, found: list[str]) -> None:
    assert is_short(IdPrefix.APPROVAL, typed)
    assert matching(IdPrefix.APPROVAL, typed, IDS) == found


@pytest.mark.parametrize("typed", ["", "apr_", "14a", "…", "Courier", "01a2 14a9", "01A2", "01a2…14…a9", "01a2*"])
def test_what_is_no_part_of_an_id(typed: str) -> None:
    assert not is_short(IdPrefix.APPROVAL, typed)


def test_a_whole_id_is_asked_about_as_it_is() -> None:
    assert is_whole(IdPrefix.APPROVAL, ONE)
    assert is_whole(IdPrefix.APPROVAL, ONE.removeprefix("apr_"))
    assert not is_whole(IdPrefix.APPROVAL, ONE[:-1])


def test_one_of_several_is_refused_with_all_of_them() -> None:
    with pytest.raises(ValidationError) as refused:
        the_one("01a2", [(ONE, "pay\x1b[2K"), (TWO, "read")], what="approval request", listed_by="approvals list")
    assert str(refused.value) == (
        "01a2 matches 2 approval requests. Enter more characters:\n" + f"  {ONE}  pay\\u{{1b}}[2K\n" + f"  {TWO}  read"
    )
    with pytest.raises(NotFoundError, match="approvals list"):
        the_one("ffff", [], what="approval request", listed_by="approvals list")
