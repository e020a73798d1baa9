"""A burst of calls that are to be held: all are, none is refused, and approvals release each once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from headgate.actions.recording_store import RecordingOutcome
from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_key
from headgate.approvals.decide import DecideApproval
from headgate.approvals.gate_store import UseRow
from headgate.approvals.model import VoteDecision
from headgate.approvals.voting import Voter
from headgate.approvals.wake_ups import WakeUps
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.gate.admitted import Admitted
from headgate.gate.refusals import ApprovalPendingError
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import RateLimitedError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.policies.service import CheckedPolicy, PolicyDraft, create_policy
from headgate.protocols.draft import Source, make_draft
from tests.integration.decision_process import DecisionProcess, decision_process

_REGO = 'package t\n\nrequire_approval contains "a person looks" if input.tool == "mail"\n'
_HOLD_SECONDS = 200.0


@dataclass(frozen=True)
class Process:
    """A decision point with its poll for decisions, and one agent."""

    decides: DecisionProcess
    identity: KeyIdentity
    key: Secret
    database: Database

    @property
    def wake_ups(self) -> WakeUps:
        return self.decides.wake_ups

    async def call(self, number: int) -> Admitted:
        draft = make_draft(tool="mail", operation="send", params={"number": number}, source=Source.PROXY)
        return await self.decides.admit(self.key.reveal(), draft)

    async def until_held(self, count: int) -> None:
        async with asyncio.timeout(_HOLD_SECONDS):
            while self.wake_ups.held < count:
                await asyncio.sleep(0.02)

    async def approve(self, approval_id: str) -> None:
        decide = DecideApproval(self.database, None, system_clock)
        await decide.decide(self.identity.org_id, approval_id, Voter("usr_ann", None), VoteDecision.APPROVE, None)


@pytest.fixture
def most_open() -> int | None:
    return None


@pytest.fixture
async def process(
    cluster: Any, organization: Any, api_database: Database, proxy_database: Database, most_open: int | None
) -> AsyncIterator[Process]:
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    async with begin_change(api_database, by) as change:
        checked = CheckedPolicy(PolicyDraft(name="t", rego_policy=_REGO), b"{}", ())
        await create_policy(change, checked)
        issued = await create_key(
            change,
            kind=KeyKind.AGENT,
            scopes=KIND_SCOPES[KeyKind.AGENT],
            agent_id=organization.agent_id,
        )
    dsn = cluster.dsn("headgate_proxy")
    async with decision_process(
        dsn, proxy_database, hold_seconds=_HOLD_SECONDS, most_open_approvals=most_open
    ) as decides:
        polling = asyncio.create_task(decides.wake_ups.poll())
        identity = await decides.keys.authenticate(issued.key.reveal())
        yield Process(decides, identity, issued.key, api_database)
        polling.cancel()


async def test_a_burst_is_held_and_each_is_released_once(process: Process, superuser: psycopg.Connection[Any]) -> None:
    count = 1_000
    calls = [asyncio.create_task(process.call(number)) for number in range(count)]
    await process.until_held(count)
    rows = superuser.execute(
        "SELECT status, count(*) FROM approvals WHERE org_id = %s GROUP BY 1", [process.identity.org_id]
    ).fetchall()
    assert rows == [("pending", count)]
    # As a vote does it, in one statement for all: what is tested is the release.
    superuser.execute(
        "UPDATE approvals SET status = 'approved', decided_at = clock_timestamp() WHERE org_id = %s",
        [process.identity.org_id],
    )
    process.wake_ups.wake_all()
    admitted = await asyncio.gather(*calls)
    assert len({one.approval_id for one in admitted}) == count
    [(executions, used)] = superuser.execute(
        "SELECT (SELECT count(*) FROM executions WHERE org_id = %s),"
        " (SELECT count(*) FROM approvals WHERE org_id = %s AND used_at IS NOT NULL)",
        [process.identity.org_id] * 2,
    ).fetchall()
    assert (executions, used) == (count, count)


async def test_one_digest_is_asked_about_once_and_used_once(
    process: Process, superuser: psycopg.Connection[Any]
) -> None:
    calls = [asyncio.create_task(process.call(1)) for _ in range(50)]
    await process.until_held(50)
    [(approval_id,)] = superuser.execute(
        "SELECT approval_id FROM approvals WHERE org_id = %s", [process.identity.org_id]
    ).fetchall()
    await process.approve(approval_id)
    first = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    [admitted] = [one.result() for one in first[0]]
    assert admitted.approval_id == approval_id
    await process.until_held(49)
    # The others ask anew, together.
    rows = superuser.execute(
        "SELECT status, used_at IS NOT NULL FROM approvals WHERE org_id = %s ORDER BY approval_id",
        [process.identity.org_id],
    ).fetchall()
    assert rows == [("approved", True), ("pending", False)]
    process.decides.point.holds.release()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert Counter(type(one) for one in ended) == {Admitted: 1, ApprovalPendingError: 49}


@pytest.mark.parametrize("most_open", [20])
async def test_an_agent_opens_no_more_than_it_may_in_one_batch(
    process: Process, superuser: psycopg.Connection[Any]
) -> None:
    calls = [asyncio.create_task(process.call(number)) for number in range(100)]
    await process.until_held(20)
    refused, _ = await asyncio.wait(calls, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    while len(refused) < 80:
        refused, _ = await asyncio.wait(calls, timeout=0.1)
    assert {type(one.exception()) for one in refused} == {RateLimitedError}
    rows = superuser.execute(
        "SELECT status, count(*) FROM approvals WHERE org_id = %s GROUP BY 1", [process.identity.org_id]
    ).fetchall()
    assert rows == [("pending", 20)]
    process.decides.point.holds.release()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_the_newest_approval_of_a_digest_decides(
    process: Process, organization: Any, hold: Any, superuser: psycopg.Connection[Any]
) -> None:
    """A call that waits with an older one must not use it: people may have denied the newer one."""
    older = await hold(organization, source="proxy", generation=process.identity.generation)
    superuser.execute(
        "UPDATE approvals SET status = 'approved', decided_at = clock_timestamp() WHERE approval_id = %s",
        [older.approval_id],
    )
    row = UseRow(
        organization.org_id, process.identity.generation, older.approval_id, organization.agent_id, older.digest,
        "exe_1", "ins_1", datetime.now(UTC), "{}", "{}",
    )  # fmt: skip
    newer = await hold(
        organization,
        source="proxy",
        generation=process.identity.generation,
        digest=older.digest,
        previous_approval_id=older.approval_id,
    )
    use = process.decides.recorder.submit_use(row, action_id=older.action_id)
    assert await use is RecordingOutcome.UNUSABLE
    superuser.execute("DELETE FROM approvals WHERE approval_id = %s", [newer.approval_id])
    use = process.decides.recorder.submit_use(row, action_id=older.action_id)
    assert await use is RecordingOutcome.RECORDED


async def test_holds_and_uses_of_the_same_calls_do_not_wait_for_each_other(
    process: Process, superuser: psycopg.Connection[Any]
) -> None:
    """Retries lock by digest and uses by approval: in both orders at once, PostgreSQL would end one of them."""
    waiting = [asyncio.create_task(process.call(number)) for number in range(200)]
    await process.until_held(200)
    superuser.execute(
        "UPDATE approvals SET status = 'approved', decided_at = clock_timestamp() WHERE org_id = %s",
        [process.identity.org_id],
    )
    retries = [asyncio.create_task(process.call(number)) for number in reversed(range(200))]
    process.wake_ups.wake_all()
    await asyncio.wait([*waiting, *retries], timeout=20, return_when=asyncio.FIRST_EXCEPTION)
    await asyncio.sleep(2)
    process.decides.point.holds.release()
    ended = await asyncio.gather(*waiting, *retries, return_exceptions=True)
    assert {type(one) for one in ended} <= {Admitted, ApprovalPendingError}
    [(used,)] = superuser.execute(
        "SELECT count(*) FROM approvals WHERE org_id = %s AND used_at IS NOT NULL", [process.identity.org_id]
    ).fetchall()
    assert used == 200
