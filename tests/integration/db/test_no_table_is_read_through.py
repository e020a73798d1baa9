"""What runs for every request finds its rows by index, however small the tables are when it is planned.

A plan that reads a table from end to end is kept when the table has grown, and then each request costs all of it
(docs/decisions/0009). PostgreSQL's own counters tell how each table was read.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

import psycopg
import pytest
from psycopg import pq

from headgate.actions.entry_lane import EntryLane
from headgate.actions.recorded_entry import ActionRow, OutcomeRow
from headgate.actions.recording_store import (
    ActionBatches,
    OutcomeBatches,
    record_actions_call,
    record_outcomes_call,
)
from headgate.audit.written_events import WrittenEvents
from headgate.db.database import Database
from headgate.db.prepared_call import PreparedCall
from headgate.journal.apply import apply_due
from headgate.kernel.errors import UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES
from tests.integration.conftest import Cluster, Organization

TABLES: Final = (
    "organizations", "org_state", "agents", "idempotency_keys", "actions", "executions",
    "approvals", "journal", "audit_chain",
)  # fmt: skip
EMPTY: Final = '{"actor":{"id":"headgate","type":"system"},"data":{}}'

type Server = psycopg.Connection[tuple[Any, ...]]


async def send(call: PreparedCall, parameters: list[bytes]) -> bytes | None:
    """A batch as the proxy sends it; the answer's text."""
    answered: asyncio.Future[pq.abc.PGresult | UnavailableError] = asyncio.get_running_loop().create_future()
    await call.open()
    try:
        call.call(parameters, answered.set_result)
        reply = await answered
    finally:
        await call.close()
    if isinstance(reply, UnavailableError):
        raise reply
    return reply.get_value(0, 0)


def scans(server: Server) -> dict[str, int]:
    """How often each table has been read from end to end."""
    server.execute("SELECT pg_stat_force_next_flush()")
    counted = server.execute(
        "SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname = ANY (%s)", [list(TABLES)]
    ).fetchall()
    assert len(counted) == len(TABLES)
    return dict(counted)


@pytest.fixture
def server(cluster: Cluster) -> Any:
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as connection:
        # As small as they ever are, and known to be: what would make a planner read them through.
        connection.execute(f"ANALYZE {', '.join(TABLES)}")
        yield connection


async def test_recording_and_applying_read_by_index(
    cluster: Cluster, server: Server, organization: Organization, worker_database: Database
) -> None:
    execution_id, now, proxy = new_id(IdPrefix.EXECUTION), datetime.now(UTC), Secret(cluster.dsn("headgate_proxy"))
    action = ActionRow(
        organization.org_id, 1, new_id(IdPrefix.ACTION), organization.agent_id, None, "api", "mail", "send",
        "executing", bytes(32), b'{"params":{}}', b"{}", "low", None, now, execution_id, "ins_1", "key", bytes(32),
        EMPTY, EMPTY, EMPTY,
    )  # fmt: skip
    outcome = OutcomeRow(
        organization.org_id, execution_id, action.action_id, organization.agent_id, True, now, None, b"{}", EMPTY, None
    )
    before = scans(server)
    actions, outcomes = ActionBatches(EntryLane(CODES)), OutcomeBatches(EntryLane(CODES), WrittenEvents())

    assert await send(record_actions_call(proxy, deadline_seconds=5), actions.encode([action])) == b"recorded"
    assert await apply_due(worker_database) >= 1
    assert await send(record_outcomes_call(proxy, deadline_seconds=5), outcomes.encode([outcome])) == b""
    assert await apply_due(worker_database) >= 1
    assert scans(server) == before
    [(ended,)] = server.execute("SELECT status FROM executions WHERE execution_id = %s", [execution_id]).fetchall()
    assert ended == "succeeded"


def test_the_counters_would_tell(server: Server) -> None:
    before = scans(server)
    server.execute("SET enable_indexscan = off")
    server.execute("SET enable_indexonlyscan = off")
    server.execute("SELECT count(*) FROM actions")
    assert scans(server)["actions"] == before["actions"] + 1
