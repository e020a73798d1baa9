"""The clock looks after approvals: each thing once, however many workers there are, and nothing after the end."""

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from headgate.approvals.attend import escalate_due, remind_due
from headgate.approvals.decide import DecideApproval
from headgate.approvals.detail_store import get_detail
from headgate.approvals.expire import expire_due
from headgate.approvals.history import HistoryVerb, history
from headgate.approvals.model import ApprovalStatus, VoteDecision
from headgate.approvals.step_store import steps_of
from headgate.approvals.store import get_approval
from headgate.approvals.voting import Voter
from headgate.audit import store as audit_store
from headgate.audit.model import EventFilter
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError
from headgate.policies.model import Requirement

ASKED = (Requirement("pol_1", 1, 1, ("alice@example.com",), escalate_to=("group:security", "usr_boss")),)
MOMENT = timedelta(milliseconds=1)


async def events(database: Database, org_id: str, event_type: str) -> list[dict[str, Any]]:
    await apply_before_reading(database, org_id)
    async with database.transaction(org_id) as connection:
        page = await audit_store.list_events(connection, org_id, EventFilter(event_type=event_type))
    return [dict(event.data) for event in reversed(page.events)]


@pytest.mark.parametrize("workers", [1, 4])
async def test_what_nobody_decides_is_escalated_once(
    api_database: Database, worker_database: Database, organization, hold, workers: int
) -> None:
    held = await hold(organization, requirements=ASKED, escalate_after=MOMENT)
    later = await hold(organization, requirements=ASKED, escalate_after=timedelta(minutes=1))
    await asyncio.sleep(0.01)
    await asyncio.gather(*(escalate_due(worker_database) for _ in range(workers)))
    await escalate_due(worker_database)
    (told,) = await events(api_database, organization.org_id, "approval.escalated")
    assert (told["approval_id"], told["added"]) == (held.approval_id, ["group:security", "usr_boss"])
    assert told["assignees"] == ["alice@example.com", "group:security", "usr_boss"]
    async with api_database.transaction(organization.org_id) as connection:
        approval, _ = await get_approval(connection, organization.org_id, held.approval_id)
        (step,) = await steps_of(connection, organization.org_id, held.approval_id)
        waiting, _ = await get_approval(connection, organization.org_id, later.approval_id)
    assert approval.escalated_at is not None
    assert (approval.requirements[0].assignees, step.verb) == (("alice@example.com",), HistoryVerb.ESCALATED)
    assert waiting.escalated_at is None
    outcome = await DecideApproval(api_database, None, system_clock).decide(
        organization.org_id, held.approval_id, Voter("usr_boss"), VoteDecision.APPROVE, None
    )
    assert outcome.approval.status is ApprovalStatus.APPROVED


async def test_reminders_come_once_each_and_end_with_the_approval(
    api_database: Database, worker_database: Database, organization, hold,
    superuser: psycopg.Connection[tuple[object, ...]],
) -> None:  # fmt: skip
    held = await hold(organization, requirements=ASKED, remind_after=timedelta(seconds=60))
    assert await events(api_database, organization.org_id, "approval.reminded") == []
    for number in (1, 2):
        # An hour in which everything was down: one reminder for it.
        superuser.execute(
            "UPDATE approvals SET remind_at = clock_timestamp() - interval '1 hour' WHERE approval_id = %s",
            [held.approval_id],
        )
        await asyncio.gather(*(remind_due(worker_database) for _ in range(4)))
        told = await events(api_database, organization.org_id, "approval.reminded")
        assert [one["reminder"] for one in told] == list(range(1, number + 1))
    superuser.execute("UPDATE approvals SET remind_at = clock_timestamp() WHERE approval_id = %s", [held.approval_id])
    await DecideApproval(api_database, None, system_clock).decide(
        organization.org_id, held.approval_id, Voter("usr_a", "alice@example.com"), VoteDecision.DENY, "no"
    )
    await remind_due(worker_database)
    assert len(await events(api_database, organization.org_id, "approval.reminded")) == 2


async def test_what_has_expired_is_neither_escalated_nor_reminded_of(
    api_database: Database, worker_database: Database, organization, hold
) -> None:
    """Everything was down for longer than the approval lived."""
    await hold(organization, requirements=ASKED, expires_in=3 * MOMENT, escalate_after=MOMENT, remind_after=MOMENT)
    await asyncio.sleep(0.01)
    await asyncio.gather(escalate_due(worker_database), remind_due(worker_database))
    await expire_due(worker_database, None, system_clock)
    for event_type, count in (("approval.escalated", 0), ("approval.reminded", 0), ("approval.expired", 1)):
        assert len(await events(api_database, organization.org_id, event_type)) == count


async def test_one_that_cannot_be_attended_does_not_keep_the_others_waiting(
    api_database: Database, worker_database: Database, organization, new_organization, hold,
    superuser: psycopg.Connection[tuple[object, ...]],
) -> None:  # fmt: skip
    broken = await hold(organization, requirements=ASKED, escalate_after=MOMENT)
    whole = await hold(new := new_organization(), requirements=ASKED, escalate_after=2 * MOMENT)
    await asyncio.sleep(0.01)
    superuser.execute(
        "INSERT INTO approval_steps (org_id, approval_id, step, verb, at, data)"
        " VALUES (%s, %s, 2147483647, 'x', now(), '{}')",  # no number is left for the next
        [organization.org_id, broken.approval_id],
    )
    await escalate_due(worker_database)
    (told,) = await events(api_database, new.org_id, "approval.escalated")
    assert told["approval_id"] == whole.approval_id


async def test_a_call_that_the_proxy_holds_is_attended_to_like_any_other(
    api_database: Database, proxy_database: Database, worker_database: Database, organization, hold
) -> None:
    held = await hold(organization, requirements=ASKED, escalate_after=MOMENT, source="proxy", database=proxy_database)
    await asyncio.sleep(0.01)
    await escalate_due(worker_database)
    (told,) = await events(api_database, organization.org_id, "approval.escalated")
    assert told["approval_id"] == held.approval_id


async def test_only_the_transaction_that_opens_an_approval_says_who_attends_to_it(cluster, organization, hold) -> None:
    """Afterwards it is for people to say: the proxy cannot take an approval from anybody."""
    held = await hold(organization, requirements=ASKED, source="proxy")
    for statement in (
        "INSERT INTO approval_assignees (org_id, name, approval_id) VALUES (%s, 'usr_friend', %s)",
        "UPDATE approvals SET escalate_at = NULL WHERE org_id = %s AND approval_id = %s",
    ):
        with (
            psycopg.connect(cluster.dsn("headgate_proxy")) as proxy,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            proxy.execute(statement, [organization.org_id, held.approval_id])


async def test_one_that_gave_way_to_another_says_so(
    api_database: Database, proxy_database: Database, organization, hold
) -> None:
    digest = bytes(range(32))
    first = await hold(organization, source="proxy", digest=digest, database=proxy_database)
    second = await hold(
        organization, source="proxy", digest=digest, database=proxy_database, previous_approval_id=first.approval_id
    )
    async with api_database.transaction(organization.org_id) as connection:
        detail = await get_detail(connection, organization.org_id, first.approval_id)
    last = history(detail.approval, detail.votes, system_clock(), detail.steps, detail.early_end)[-1]
    assert (last.verb, last.data) == (HistoryVerb.SUPERSEDED, {"by_approval": second.approval_id})
    with pytest.raises(ConflictError, match="before its time"):
        await DecideApproval(api_database, None, system_clock).decide(
            organization.org_id, first.approval_id, Voter("usr_a"), VoteDecision.APPROVE, None
        )
