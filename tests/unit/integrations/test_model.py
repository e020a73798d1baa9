"""States that decide, bindings that fit, addresses that are answered: pure decisions, in tables."""

from datetime import UTC, datetime, timedelta

import pytest

from headgate.approvals.model import VoteDecision
from headgate.integrations.github_actions.settings import Binding
from headgate.integrations.model import DecidingStates, outcome_of
from headgate.integrations.signatures import require_fresh
from headgate.kernel.errors import UnauthorizedError

STATES = DecidingStates(("Approved", "Done"), ("Rejected",))


@pytest.mark.parametrize(
    ("status", "decision"),
    [("approved", VoteDecision.APPROVE), ("DONE", VoteDecision.APPROVE), ("Rejected", VoteDecision.DENY),
     ("Approved ", None), ("", None), ("To Do", None)],
)  # fmt: skip
def test_which_states_decide(status: str, decision: VoteDecision | None) -> None:
    assert STATES.decision(status) is decision


def test_a_state_of_both_denies() -> None:
    assert DecidingStates(("Closed",), ("closed",)).decision("CLOSED") is VoteDecision.DENY


@pytest.mark.parametrize(
    ("outcome", "states"), [("approved", ("Approved", "Done")), ("denied", ("Rejected",)), ("expired", ()), (None, ())]
)
def test_where_an_item_belongs(outcome: str | None, states: tuple[str, ...]) -> None:
    assert STATES.of_outcome(outcome) == states


@pytest.mark.parametrize(
    ("claims", "fits"),
    [
        ({"repository": "a/b", "ref": "refs/heads/main"}, True),
        ({"repository": "a/b", "ref": "refs/tags/v1"}, False),
        ({"repository": "A/b", "ref": "refs/heads/main"}, False),
        ({"repository": "a/b"}, False),
        ({"repository": ["a/b"], "ref": "refs/heads/main"}, False),
    ],
)
def test_every_claim_of_a_binding_must_fit(claims: dict[str, object], fits: bool) -> None:
    binding = Binding("agt_1", (("repository", "a/*"), ("ref", "refs/heads/*")))
    assert binding.fits(claims) is fits  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "approval", "is_edited", "outcome"),
    [
        *((status, None, False, "approved") for status in ("allowed", "approved", "executing", "completed", "failed")),
        ("denied", None, False, "denied"),
        ("denied", "expired", False, "expired"),
        ("pending_approval", "pending", False, None),
        ("approved", "approved", True, "denied"),
        ("pending_approval", "pending", True, None),
        (None, None, False, None),
    ],
)
def test_the_outcome_of_an_item(action: str | None, approval: str | None, is_edited: bool, outcome: str | None) -> None:
    assert outcome_of(action, approval, is_edited=is_edited) == outcome


@pytest.mark.parametrize(("age", "fresh"), [(0, True), (899, True), (901, False), (-299, True), (-301, False)])
def test_freshness(age: int, fresh: bool) -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    seconds = (now - timedelta(seconds=age)).timestamp()
    if fresh:
        require_fresh(seconds, now, timedelta(minutes=15), "It")
        return
    with pytest.raises(UnauthorizedError):
        require_fresh(seconds, now, timedelta(minutes=15), "It")


def test_what_says_no_time_is_not_fresh() -> None:
    with pytest.raises(UnauthorizedError):
        require_fresh(None, datetime.now(UTC), timedelta(minutes=15), "It")
