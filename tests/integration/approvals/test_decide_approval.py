"""Deciding against a real server: what is written, who wins at the same moment, what the events say."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from headgate.actions.store import get_action
from headgate.approvals.decide import DecideApproval
from headgate.approvals.list_store import ApprovalFilter, list_approvals
from headgate.approvals.model import ApprovalStatus, VoteDecision
from headgate.approvals.store import get_approval
from headgate.approvals.vote_store import votes_of
from headgate.approvals.voting import Outcome, Voter
from headgate.audit import store as audit_store
from headgate.audit.model import EventFilter
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError, ForbiddenError, NotFoundError
from headgate.policies.model import Requirement

APPROVE, DENY = VoteDecision.APPROVE, VoteDecision.DENY
ALICE, BOB = Voter("usr_alice", "alice@example.com"), Voter("usr_bob", "bob@example.com")


@pytest.fixture
def decider(api_database: Database) -> DecideApproval:
    return DecideApproval(api_database, None, system_clock)


async def _event_types(database: Database, org_id: str, action_id: str) -> list[str]:
    await apply_before_reading(database, org_id)
    async with database.transaction(org_id) as connection:
        page = await audit_store.list_events(connection, org_id, EventFilter(action_id=action_id))
    return [event.event_type for event in reversed(page.events)]


_REQUESTED = ["action.submitted", "decision.made", "approval.requested"]


@pytest.mark.parametrize(
    ("decision", "status", "action_status", "event_type"),
    [
        (APPROVE, "approved", "approved", "approval.approved"),
        (DENY, "denied", "denied", "approval.denied"),
    ],
)
async def test_a_decision_moves_the_approval_and_its_action(
    decider: DecideApproval, api_database: Database, organization, hold,
    decision: VoteDecision, status: str, action_status: str, event_type: str,
) -> None:  # fmt: skip
    held = await hold(organization)
    outcome = await decider.decide(organization.org_id, held.approval_id, ALICE, decision, "looks right")
    async with api_database.transaction(organization.org_id) as connection:
        stored, about = await get_approval(connection, organization.org_id, held.approval_id)
        votes = await votes_of(connection, organization.org_id, held.approval_id)
        detail = await get_action(connection, organization.org_id, held.action_id)
    assert stored == outcome.approval
    assert (stored.status, stored.decided_by, stored.comment) == (status, "usr_alice", "looks right")
    assert (about.tool, about.operation, about.params) == ("mail", "send", {"to": "x@example.com"})
    assert votes == [outcome.vote]
    assert detail.action.status == action_status
    assert detail.approval is not None
    assert (detail.approval.status, detail.approval.approver_id) == (status, "usr_alice")
    assert await _event_types(api_database, organization.org_id, held.action_id) == [*_REQUESTED, event_type]


async def test_the_event_says_who_decided_what(
    decider: DecideApproval, api_database: Database, organization, hold
) -> None:
    held = await hold(organization)
    await decider.decide(organization.org_id, held.approval_id, ALICE, DENY, "not on a Friday")
    await apply_before_reading(api_database, organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        page = await audit_store.list_events(connection, organization.org_id, EventFilter(event_type="approval.denied"))
    (event,) = page.events
    assert event.actor is not None
    assert (event.actor.type, event.actor.id, event.actor.name) == ("user", "usr_alice", "alice@example.com")
    assert event.data == {
        "approval_id": held.approval_id,
        "vote": "deny",
        "reason": "not on a Friday",
        "current_approvals": 0,
        "required_approvals": 1,
        "digest": "sha256:" + held.digest.hex(),
        "as_admin": False,
        "email": "alice@example.com",
        "standing": [{"free": True, "policy_id": "pol_1", "roles": []}],
    }
    assert (event.action_id, event.agent_id) == (held.action_id, organization.agent_id)


async def test_a_vote_that_does_not_decide_leaves_the_action_waiting(
    decider: DecideApproval, api_database: Database, organization, hold
) -> None:
    held = await hold(organization, requirements=(Requirement("pol_1", 1, 2),))
    first = await decider.decide(organization.org_id, held.approval_id, ALICE, APPROVE, None)
    assert (first.decided, first.approval.current_approvals) == (False, 1)
    async with api_database.transaction(organization.org_id) as connection:
        assert (await get_action(connection, organization.org_id, held.action_id)).action.status == "pending_approval"
    second = await decider.decide(organization.org_id, held.approval_id, BOB, APPROVE, None)
    assert second.approval.status is ApprovalStatus.APPROVED
    assert await _event_types(api_database, organization.org_id, held.action_id) == [
        *_REQUESTED,
        "approval.voted",
        "approval.approved",
    ]


async def _at_once(decider: DecideApproval, org_id: str, approval_id: str, votes: Sequence[tuple[Voter, VoteDecision]]):
    return await asyncio.gather(
        *(decider.decide(org_id, approval_id, voter, decision, "r") for voter, decision in votes),
        return_exceptions=True,
    )


@pytest.mark.parametrize("round_number", range(8))
@pytest.mark.parametrize("votes", [[(ALICE, APPROVE), (BOB, APPROVE)], [(ALICE, APPROVE), (BOB, DENY)]])
async def test_of_two_decisions_at_the_same_moment_one_stands_and_one_is_told(
    decider: DecideApproval, api_database: Database, organization, hold,
    votes: list[tuple[Voter, VoteDecision]], round_number: int,
) -> None:  # fmt: skip
    held = await hold(organization)
    results = await _at_once(decider, organization.org_id, held.approval_id, votes)
    (stood,) = [result for result in results if isinstance(result, Outcome)]
    (told,) = [result for result in results if isinstance(result, ConflictError)]
    assert told.details is not None
    assert told.details["decided_by"] == stood.vote.voter_id
    assert told.details["status"] == stood.approval.status
    async with api_database.transaction(organization.org_id) as connection:
        assert await votes_of(connection, organization.org_id, held.approval_id) == [stood.vote]
        action = (await get_action(connection, organization.org_id, held.action_id)).action
    assert action.status == stood.approval.status
    assert len(await _event_types(api_database, organization.org_id, held.action_id)) == 4


async def test_two_approvers_at_the_same_moment_make_two_votes(decider: DecideApproval, organization, hold) -> None:
    held = await hold(organization, requirements=(Requirement("pol_1", 1, 2),))
    results = await _at_once(decider, organization.org_id, held.approval_id, [(ALICE, APPROVE), (BOB, APPROVE)])
    assert sorted(result.approval.status.value for result in results) == ["approved", "pending"]


async def test_one_approver_twice_at_the_same_moment_has_one_vote(decider: DecideApproval, organization, hold) -> None:
    held = await hold(organization, requirements=(Requirement("pol_1", 1, 2),))
    results = await _at_once(decider, organization.org_id, held.approval_id, [(ALICE, APPROVE), (ALICE, APPROVE)])
    assert {type(result) for result in results} == {Outcome, ConflictError}


async def test_what_is_refused_changes_nothing(
    decider: DecideApproval, api_database: Database, organization, new_organization, hold
) -> None:
    held = await hold(organization, requirements=(Requirement("pol_1", 1, 1, ("usr_alice",)),))
    with pytest.raises(ForbiddenError):
        await decider.decide(organization.org_id, held.approval_id, BOB, APPROVE, None)
    with pytest.raises(NotFoundError):
        await decider.decide(new_organization().org_id, held.approval_id, ALICE, APPROVE, None)
    with pytest.raises(NotFoundError):
        await decider.decide(organization.org_id, "apr_none", ALICE, APPROVE, None)
    async with api_database.transaction(organization.org_id) as connection:
        stored, _ = await get_approval(connection, organization.org_id, held.approval_id)
        assert await votes_of(connection, organization.org_id, held.approval_id) == []
    assert stored.status is ApprovalStatus.PENDING
    assert await _event_types(api_database, organization.org_id, held.action_id) == _REQUESTED


async def test_an_earlier_vote_counts_for_what_it_was_cast_for(decider: DecideApproval, organization, hold) -> None:
    demanded = (Requirement("pol_1", 1, 1, ("usr_alice",)), Requirement("pol_2", 1, 1, ("bob@example.com",)))
    held = await hold(organization, requirements=demanded)
    assert not (await decider.decide(organization.org_id, held.approval_id, ALICE, APPROVE, None)).decided
    assert (await decider.decide(organization.org_id, held.approval_id, BOB, APPROVE, None)).decided


async def test_a_dead_valkey_changes_nothing(api_database: Database, organization, hold) -> None:
    held = await hold(organization)
    nowhere = Redis.from_url("redis://127.0.0.1:1")
    outcome = await DecideApproval(api_database, nowhere, system_clock).decide(
        organization.org_id, held.approval_id, ALICE, APPROVE, None
    )
    await nowhere.aclose()
    assert outcome.approval.status is ApprovalStatus.APPROVED


async def test_lists_show_what_approvals_are_now(
    decider: DecideApproval, api_database: Database, organization, hold
) -> None:
    pending = await hold(organization, risk_level="critical")
    approved, expired = await hold(organization), await hold(organization, expires_in=timedelta(milliseconds=1))
    await decider.decide(organization.org_id, approved.approval_id, ALICE, APPROVE, None)
    await asyncio.sleep(0.005)
    async with api_database.transaction(organization.org_id) as connection:
        for wanted, found in (
            (ApprovalFilter(), [expired, approved, pending]),
            (ApprovalFilter(status=ApprovalStatus.PENDING), [pending]),
            (ApprovalFilter(status=ApprovalStatus.APPROVED), [approved]),
            (ApprovalFilter(status=ApprovalStatus.EXPIRED), [expired]),
            (ApprovalFilter(status=ApprovalStatus.DENIED), []),
            (ApprovalFilter(risk_level="critical"), [pending]),
            (ApprovalFilter(agent_id=organization.agent_id, risk_level="high"), [expired, approved]),
            (ApprovalFilter(agent_id="agt_other"), []),
        ):
            page = await list_approvals(connection, organization.org_id, wanted)
            assert [one.approval_id for one, _ in page.approvals] == [one.approval_id for one in found]
            assert page.total == len(found)
        first = await list_approvals(connection, organization.org_id, ApprovalFilter(), limit=2)
        rest = await list_approvals(
            connection, organization.org_id, ApprovalFilter(), limit=2, cursor=first.next_cursor
        )
    assert [one.approval_id for one, _ in rest.approvals] == [pending.approval_id]
