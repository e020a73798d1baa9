"""The clock ends approvals; whatever else happens at that moment, exactly one thing has happened afterwards."""

import asyncio
from datetime import timedelta

import pytest

from headgate.actions.store import get_action
from headgate.approvals.decide import DecideApproval
from headgate.approvals.expire import expire_due
from headgate.approvals.model import ApprovalStatus, VoteDecision
from headgate.approvals.store import get_approval
from headgate.approvals.voting import Outcome, Voter
from headgate.audit import store as audit_store
from headgate.audit.model import EventFilter
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError

_ALICE = Voter("usr_alice")


async def _states(database: Database, org_id: str, held) -> tuple[str, str]:
    async with database.transaction(org_id) as connection:
        approval, _ = await get_approval(connection, org_id, held.approval_id)
        action = (await get_action(connection, org_id, held.action_id)).action
    return approval.status.value, action.status.value


async def test_expiry_ends_the_approval_and_denies_its_action(
    api_database: Database, worker_database: Database, organization, hold
) -> None:
    due, later = await hold(organization, expires_in=timedelta(milliseconds=1)), await hold(organization)
    await asyncio.sleep(0.005)
    assert await expire_due(worker_database, None, system_clock) >= 1
    assert await _states(api_database, organization.org_id, due) == ("expired", "denied")
    assert await _states(api_database, organization.org_id, later) == ("pending", "pending_approval")
    await apply_before_reading(api_database, organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        page = await audit_store.list_events(
            connection, organization.org_id, EventFilter(event_type="approval.expired")
        )
    assert [(event.action_id, event.data["reason"]) for event in page.events] == [(due.action_id, "expired")]


async def test_it_is_expired_before_the_worker_comes(api_database: Database, organization, hold) -> None:
    held = await hold(organization, expires_in=timedelta(milliseconds=1))
    await asyncio.sleep(0.005)
    async with api_database.transaction(organization.org_id) as connection:
        detail = await get_action(connection, organization.org_id, held.action_id)
    assert detail.approval is not None
    assert (detail.approval.status, detail.action.status) == ("expired", "denied")
    with pytest.raises(ConflictError, match="already expired"):
        await DecideApproval(api_database, None, system_clock).decide(
            organization.org_id, held.approval_id, _ALICE, VoteDecision.APPROVE, None
        )


@pytest.mark.parametrize("round_number", range(5))
async def test_a_decision_and_the_clock_at_the_same_moment(
    api_database: Database, worker_database: Database, organization, hold, round_number: int
) -> None:
    held = await hold(organization, expires_in=timedelta(milliseconds=30))
    decider = DecideApproval(api_database, None, system_clock)

    async def decide() -> Outcome | ConflictError:
        await asyncio.sleep(0.02 + round_number * 0.005)
        try:
            return await decider.decide(organization.org_id, held.approval_id, _ALICE, VoteDecision.APPROVE, None)
        except ConflictError as error:
            return error

    async def expire() -> None:
        for _ in range(20):
            await expire_due(worker_database, None, system_clock)
            await asyncio.sleep(0.005)

    result, _ = await asyncio.gather(decide(), expire())
    expected = ("approved", "approved") if isinstance(result, Outcome) else ("expired", "denied")
    assert await _states(api_database, organization.org_id, held) == expected


async def test_two_workers_expire_it_once(
    api_database: Database, worker_database: Database, organization, hold
) -> None:
    held = await hold(organization, expires_in=timedelta(milliseconds=1))
    await asyncio.sleep(0.005)
    await asyncio.gather(*(expire_due(worker_database, None, system_clock) for _ in range(4)))
    await apply_before_reading(api_database, organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        page = await audit_store.list_events(
            connection, organization.org_id, EventFilter(event_type="approval.expired", action_id=held.action_id)
        )
        approval, _ = await get_approval(connection, organization.org_id, held.approval_id)
    assert len(page.events) == 1
    assert approval.status is ApprovalStatus.EXPIRED
