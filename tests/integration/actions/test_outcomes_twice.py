"""Outcomes that are repeated, late or of nothing: an execution ends once, and an action as its last use did."""

from datetime import UTC, datetime

import psycopg
import pytest

from headgate.actions.store import get_action
from headgate.approvals.gate_store import UseRow
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Database
from headgate.gate.record_batch import OutcomeRow, Recorder
from headgate.journal.apply import require_applied
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES
from tests.integration.conftest import Cluster, Execute, Hold, Organization


def _outcome(
    organization: Organization, action_id: str, execution_id: str, *, succeeded: bool, give_back: str | None = None
) -> OutcomeRow:
    return OutcomeRow(
        organization.org_id, execution_id, action_id, organization.agent_id, succeeded, datetime.now(UTC), None, None,
        payload_text(SYSTEM, {}), give_back,
    )  # fmt: skip


@pytest.mark.parametrize("applied_between", [False, True])
async def test_an_outcome_that_is_repeated_is_recorded_once(
    cluster: Cluster,
    worker_database: Database,
    superuser: psycopg.Connection[tuple[object, ...]],
    organization: Organization,
    execute: Execute,
    applied_between: bool,
) -> None:
    running = await execute(organization, "ins_1")
    await require_applied(worker_database, organization.org_id)
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await recorder.open()
    try:
        await recorder.submit_outcome(_outcome(organization, running.action_id, running.execution_id, succeeded=True))
        if applied_between:
            await require_applied(worker_database, organization.org_id)
        await recorder.submit_outcome(_outcome(organization, running.action_id, running.execution_id, succeeded=False))
    finally:
        await recorder.close()
    await require_applied(worker_database, organization.org_id)
    told = superuser.execute(
        "SELECT event_type FROM audit_events WHERE org_id = %s AND event_type LIKE 'execution.%%' ORDER BY seq",
        [organization.org_id],
    ).fetchall()
    assert told == [("execution.started",), ("execution.completed",)]
    status = superuser.execute("SELECT status FROM executions WHERE org_id = %s", [organization.org_id]).fetchall()
    assert status == [("succeeded",)]


async def test_an_outcome_of_a_call_that_was_never_recorded_leaves_nothing(
    cluster: Cluster,
    worker_database: Database,
    superuser: psycopg.Connection[tuple[object, ...]],
    organization: Organization,
) -> None:
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await recorder.open()
    try:
        await recorder.submit_outcome(
            _outcome(organization, new_id(IdPrefix.ACTION), new_id(IdPrefix.EXECUTION), succeeded=True)
        )
    finally:
        await recorder.close()
    await require_applied(worker_database, organization.org_id)
    for table in (b"audit_events", b"executions", b"journal", b"journal_set_aside"):
        assert (
            superuser.execute(b"SELECT 1 FROM " + table + b" WHERE org_id = %s", [organization.org_id]).fetchall() == []
        )


async def test_a_use_that_was_given_back_does_not_end_the_action_of_the_next(
    cluster: Cluster,
    api_database: Database,
    worker_database: Database,
    proxy_database: Database,
    superuser: psycopg.Connection[tuple[object, ...]],
    organization: Organization,
    hold: Hold,
) -> None:
    held = await hold(organization, source="proxy")
    superuser.execute(
        "UPDATE approvals SET status = 'approved', decided_at = now() WHERE org_id = %s", [organization.org_id]
    )
    superuser.execute("UPDATE actions SET status = 'approved' WHERE org_id = %s", [organization.org_id])

    async def use() -> str:
        execution_id, payload = new_id(IdPrefix.EXECUTION), payload_text(SYSTEM, {})
        row = UseRow(
            organization.org_id, 1, held.approval_id, organization.agent_id, held.digest, execution_id, "ins_1",
            datetime.now(UTC), payload, payload,
        )  # fmt: skip
        async with proxy_database.transaction(organization.org_id) as connection:
            places = ", ".join(["%s"] * len(row))
            answer = await (await connection.execute(f"SELECT use_approval({places}) AS said", row)).fetchone()
            assert answer == {"said": "used"}
        return execution_id

    async def applied() -> str:
        await require_applied(worker_database, organization.org_id)
        async with api_database.transaction(organization.org_id) as connection:
            return (await get_action(connection, organization.org_id, held.action_id)).action.status.value

    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await recorder.open()
    try:
        first = await use()
        await recorder.submit_outcome(
            _outcome(organization, held.action_id, first, succeeded=False, give_back=held.approval_id)
        )
        second = await use()  # before the outcome of the first is applied
        assert await applied() == "executing"
        await recorder.submit_outcome(_outcome(organization, held.action_id, second, succeeded=True))
        assert await applied() == "completed"
    finally:
        await recorder.close()
