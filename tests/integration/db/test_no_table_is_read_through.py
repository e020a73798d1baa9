"""What runs for every request finds its rows by index, however small the tables are when it is planned.

A plan that reads a table from end to end is kept when the table has grown, and then each request costs all of it
(docs/decisions/0009). PostgreSQL's own counters tell how each table was read.
"""

from datetime import UTC, datetime
from typing import Any, Final

import psycopg
import pytest

from headgate.actions.recording_store import ActionRow, OutcomeRow
from headgate.kernel.ids import IdPrefix, new_id
from tests.integration.conftest import Cluster, Organization

TABLES: Final = (
    "organizations", "org_state", "agents", "idempotency_keys", "actions", "executions", "execution_outcomes",
    "approvals", "audit_inbox", "audit_chain",
)  # fmt: skip
EMPTY: Final = '{"actor":{"id":"headgate","type":"system"},"data":{}}'

type Server = psycopg.Connection[tuple[Any, ...]]


def call(server: Server, function: str, row: ActionRow | OutcomeRow) -> object:
    """A batch of one, by name, as ``headgate.db.prepared_call`` sends it."""
    [(names, types)] = server.execute(
        "SELECT proargnames, ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) AS t) FROM pg_proc"
        " WHERE proname = %s AND pronamespace = 'public'::regnamespace",
        [function],
    ).fetchall()
    parameters = ", ".join(f"{name} => %s::{array}" for name, array in zip(names, types, strict=True))
    values = [
        [one.decode() if array == "text[]" and isinstance(one, bytes) else one]
        for one, array in zip(row, types, strict=True)
    ]
    [(answer,)] = server.execute(f"SELECT {function}({parameters})", values).fetchall()
    return answer


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


def test_recording_folding_and_sealing_read_by_index(server: Server, organization: Organization) -> None:
    action_id, execution_id, now = new_id(IdPrefix.ACTION), new_id(IdPrefix.EXECUTION), datetime.now(UTC)
    action = ActionRow(
        organization.org_id, 1, action_id, organization.agent_id, None, "api", "mail", "send", "executing", bytes(32),
        b'{"params":{}}', b"{}", "low", None, now, execution_id, "ins_1", "key", bytes(32), EMPTY, EMPTY, EMPTY,
    )  # fmt: skip
    outcome = OutcomeRow(
        organization.org_id, execution_id, action_id, organization.agent_id, True, now, None, b"{}", EMPTY, None
    )
    before = scans(server)

    assert call(server, "record_actions", action) == "recorded"
    assert call(server, "record_outcomes", outcome) == 1
    folded = server.execute("SELECT org_id, folded FROM fold_due(100000)").fetchall()
    assert (organization.org_id, 1) in folded
    sealed = server.execute("SELECT org_id, sealed FROM seal_due(100000)").fetchall()
    assert (organization.org_id, 4) in sealed

    assert scans(server) == before


def test_the_counters_would_tell(server: Server) -> None:
    before = scans(server)
    server.execute("SET enable_indexscan = off")
    server.execute("SET enable_indexonlyscan = off")
    server.execute("SELECT count(*) FROM actions")
    assert scans(server)["actions"] == before["actions"] + 1
