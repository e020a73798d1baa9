"""What is told while another process folds: an execution ends once, and an action as its last use did."""

import asyncio
from datetime import UTC, datetime

import psycopg

from headgate.actions.folding_store import fold_outcomes
from headgate.actions.store import get_action
from headgate.approvals.gate_store import UseRow
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Database
from headgate.gate.record_batch import OutcomeRow, Recorder
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from tests.integration.conftest import Cluster, Execute, Hold, Organization


def _outcome(
    organization: Organization, action_id: str, execution_id: str, *, succeeded: bool, give_back: str | None = None
) -> OutcomeRow:
    return OutcomeRow(
        organization.org_id, execution_id, action_id, organization.agent_id, succeeded, datetime.now(UTC), None, None,
        payload_text(SYSTEM, {}), give_back,
    )  # fmt: skip


async def test_an_outcome_told_again_while_it_is_folded_is_recorded_once(
    cluster: Cluster,
    worker_database: Database,
    superuser: psycopg.Connection[tuple[object, ...]],
    organization: Organization,
    execute: Execute,
) -> None:
    running = await execute(organization, "ins_1")
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")))
    await recorder.open()
    outcome = _outcome(organization, running.action_id, running.execution_id, succeeded=True)
    try:
        await recorder.submit_outcome(outcome)
        async with worker_database.transaction(organization.org_id) as connection:
            assert await fold_outcomes(connection, organization.org_id) == 1
            again = recorder.submit_outcome(outcome)
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
            async with asyncio.timeout(4):
                while superuser.execute(waiting, ["SELECT record_outcomes%"]).fetchone() == (0,):
                    await asyncio.sleep(0.01)
        await again
    finally:
        await recorder.close()
    told = superuser.execute(
        "SELECT count(*) FROM audit_inbox WHERE org_id = %s AND event_type = 'execution.completed'",
        [organization.org_id],
    ).fetchone()
    left = superuser.execute("SELECT count(*) FROM execution_outcomes WHERE org_id = %s", [organization.org_id])
    assert (told, left.fetchone()) == ((1,), (0,))


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

    async def fold() -> str:
        async with worker_database.transaction(organization.org_id) as connection:
            assert await fold_outcomes(connection, organization.org_id) == 1
        async with api_database.transaction(organization.org_id) as connection:
            return (await get_action(connection, organization.org_id, held.action_id)).action.status.value

    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")))
    await recorder.open()
    try:
        first = await use()
        await recorder.submit_outcome(
            _outcome(organization, held.action_id, first, succeeded=False, give_back=held.approval_id)
        )
        second = await use()  # before anybody has folded the first
        assert await fold() == "executing"
        await recorder.submit_outcome(_outcome(organization, held.action_id, second, succeeded=True))
        assert await fold() == "completed"
    finally:
        await recorder.close()
