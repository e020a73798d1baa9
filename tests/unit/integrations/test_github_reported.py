"""What GitHub is told for a request that shares its check or answer with others."""

import itertools

import pytest

from headgate.integrations.github.reported import reported
from headgate.integrations.model import Item, Notice, Opened, Standing

OUTCOMES = ("denied", "expired", None, "approved")


def standing(number: int, outcome: str | None, kind: str = "pull_request", *, is_edited: bool = False) -> Standing:
    detail = {"kind": kind} | ({"base": "main\u202e"} if kind == "pull_request" else {})
    opened = Opened(f"x:{number}", f"example/shop#{number}", None, dict(detail), "shared")
    return Standing(f"apr_{number}", opened, outcome, is_edited)


def item(*standings: Standing) -> Item:
    return Item(standings[0].approval_id, standings[0].opened, b"", standings)


@pytest.mark.parametrize("outcomes", list(itertools.product(OUTCOMES, repeat=3)))
def test_a_check_shows_the_strictest_state(outcomes: tuple[str | None, ...]) -> None:
    shown = reported(item(*map(standing, range(3), outcomes)), Notice("m", "Allowed", "why", outcomes[0]))
    assert shown.outcome == min(outcomes, key=OUTCOMES.index)
    assert (shown.outcome == "approved") == (set(outcomes) == {"approved"})
    assert shown.text.endswith("why")


@pytest.mark.parametrize(
    ("own", "other", "outcome"),
    [
        ("approved", None, None),
        ("approved", "denied", "approved"),
        ("approved", "expired", "approved"),
        ("denied", None, "denied"),
        (None, "approved", None),
        (None, "denied", None),
    ],
)
def test_an_answer_to_a_rule_waits_for_what_is_undecided(
    own: str | None, other: str | None, outcome: str | None
) -> None:
    standings = (standing(1, own, "deployment"), standing(2, other, "deployment"))
    assert reported(item(*standings), Notice("m", "t", "why", own)).outcome == outcome


def test_the_present_state_counts_and_not_the_notice() -> None:
    """A late attempt tells what holds now; an item that is not found is undecided."""
    late = reported(item(standing(1, "denied")), Notice("m", "Approved", "why", "approved"))
    assert (late.outcome, late.title) == ("denied", "Denied")
    lost = Item("apr_9", standing(9, None).opened, b"")
    assert reported(lost, Notice("m", "Approved", "why", "approved")).outcome is None


def test_others_are_named_and_not_more_than_fit() -> None:
    shown = reported(
        item(standing(0, "approved"), *(standing(one, None) for one in range(1, 40))),
        Notice("m", "Allowed", "why", "approved"),
    )
    assert shown.title == "Waiting for approval"
    lines = shown.text.split("\n")
    assert lines[0] == "example/shop#1 into main\\u{202e}: waiting for approval"
    assert lines[20:] == ["and 19 more", "why"]


def test_an_edited_action_says_so() -> None:
    shown = reported(item(standing(1, "denied", is_edited=True)), Notice("m", "Approved", "why", "approved"))
    assert shown.text.startswith("A reviewer edited the action.")
