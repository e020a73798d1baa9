"""Sealing against a real server: no fork, no loss, no gap, whoever seals and whoever is killed."""

import asyncio
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headgate.audit import store
from headgate.audit.chain_verifier import FaultReason
from headgate.audit.model import SYSTEM, Event, EventFilter, EventType
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading, apply_due, apply_if_free
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES
from tests.integration.audit.verify_range import verify_range

type Superuser = psycopg.Connection[tuple[object, ...]]


def _events(count: int, *, first: int = 0, **columns: str) -> list[Event]:
    now = datetime.now(UTC)
    return [
        Event(EventType.DECISION_MADE, now, SYSTEM, {"n": number, "text": "“NUL: \0”"}, **columns)
        for number in range(first, first + count)
    ]


async def _append(database: Database, org_id: str, events: list[Event]) -> None:
    async with database.transaction(org_id) as connection:
        await store.append(connection, org_id, events)


async def test_what_is_appended_is_sealed_in_order_and_reads_back(
    api_database: Database, worker_database: Database, organization
) -> None:
    events = _events(5, action_id="act_1", agent_id=organization.agent_id)
    await _append(api_database, organization.org_id, events)
    sealed = 0
    while just_sealed := await apply_due(worker_database):  # other organizations' events are there too
        sealed += just_sealed
    assert sealed >= 5
    async with api_database.transaction(organization.org_id) as connection:
        page = await store.list_events(connection, organization.org_id, EventFilter())
        one = await store.get_event(connection, organization.org_id, page.events[0].event_id)
    assert [event.seq for event in page.events] == [5, 4, 3, 2, 1]
    assert [event.data for event in reversed(page.events)] == [event.data for event in events]
    assert [event.prev_hash for event in page.events[:-1]] == [event.hash for event in page.events[1:]]
    assert one == page.events[0]
    assert {(event.created_at, event.actor, event.action_id, event.agent_id) for event in page.events} == {
        (events[0].created_at, SYSTEM, "act_1", organization.agent_id)
    }
    result = await verify_range(api_database, organization.org_id)
    assert (result.valid, result.events_verified) == (True, 5)


async def test_concurrent_sealers_do_not_fork_the_chain(
    api_database: Database, worker_database: Database, organization
) -> None:
    async def write(writer: int) -> None:
        for batch in range(10):
            await _append(api_database, organization.org_id, _events(5, first=writer * 1000 + batch * 5))

    async def apply(wait: bool) -> None:
        for _ in range(40):
            if wait:
                await apply_before_reading(api_database, organization.org_id)
            else:
                await apply_if_free(worker_database, organization.org_id)
            await asyncio.sleep(0)

    await asyncio.gather(*(write(writer) for writer in range(4)), *(apply(bool(n % 2)) for n in range(4)))
    await apply_before_reading(api_database, organization.org_id)
    result = await verify_range(api_database, organization.org_id)
    assert (result.fault, result.events_verified) == (None, 200)


_APPLIER = """
import asyncio, sys
from headgate.db.database import Database
from headgate.journal.apply import require_applied
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES

async def apply():
    database = Database(Secret(sys.argv[1]), entry_codes=CODES)
    await database.open()
    while True:
        await require_applied(database, sys.argv[2])

asyncio.run(apply())
"""


def _sealer(dsn: str, org_id: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _APPLIER, dsn, org_id], stderr=subprocess.DEVNULL)


async def _seal_all(database: Database, superuser: Superuser, org_id: str) -> None:
    """A killed one's session may hold the chain for longer than a reader waits."""
    while superuser.execute("SELECT FROM journal WHERE org_id = %s LIMIT 1", [org_id]).fetchone() is not None:
        await apply_before_reading(database, org_id)


async def test_killed_backends_and_sealers_lose_nothing(
    api_database: Database, superuser: Superuser, cluster, organization
) -> None:
    dsn = cluster.dsn("headgate_worker")
    sealers = [_sealer(dsn, organization.org_id)]
    acknowledged = 0
    try:
        until = time.monotonic() + 3
        while time.monotonic() < until or acknowledged < 200:
            try:
                await _append(api_database, organization.org_id, _events(20, first=acknowledged))
                acknowledged += 20
            except UnavailableError:
                continue
            finally:
                superuser.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = %s AND pid <> pg_backend_pid() AND random() < 0.2",
                    [cluster.name],
                )
            if sealers[-1].poll() is not None or acknowledged % 300 == 0:
                sealers[-1].kill()
                sealers.append(_sealer(dsn, organization.org_id))
    finally:
        for sealer in sealers:
            sealer.kill()
            sealer.wait()
    await _seal_all(api_database, superuser, organization.org_id)
    result = await verify_range(api_database, organization.org_id)
    assert result.fault is None
    # An append whose answer was lost may have been committed all the same: more is allowed, less is not.
    assert result.events_verified >= acknowledged > 0
    async with api_database.transaction(organization.org_id) as connection:
        cursor = await connection.execute("SELECT payload FROM audit_events WHERE org_id = %s", [organization.org_id])
        numbers = {row["payload"].split('"n":')[1].split(",")[0] for row in await cursor.fetchall()}
    assert {str(number) for number in range(acknowledged)} <= numbers


@pytest.mark.parametrize(
    ("tampering", "reason", "seq"),
    [
        ("DELETE FROM audit_chain WHERE org_id = %s AND seq = 4", FaultReason.MISSING, 4),
        ("UPDATE audit_chain SET hash = sha256('x') WHERE org_id = %s AND seq = 4", FaultReason.HEADER_CHANGED, 4),
        ("UPDATE audit_events SET payload = '{}' WHERE org_id = %s AND seq = 4", FaultReason.PAYLOAD_CHANGED, 4),
        ("UPDATE audit_events SET agent_id = 'agt_x' WHERE org_id = %s AND seq = 4", FaultReason.COLUMN_CHANGED, 4),
        ("UPDATE audit_events SET created_at = now() WHERE org_id = %s AND seq = 4", FaultReason.COLUMN_CHANGED, 4),
        (
            "UPDATE audit_chain SET sealed_at = sealed_at - interval '1 day' WHERE org_id = %s AND seq = 1",
            FaultReason.COLUMN_CHANGED,
            1,
        ),
        (
            "INSERT INTO audit_events SELECT (e).* FROM (SELECT e FROM audit_events e WHERE org_id = %s AND seq = 4) x",
            FaultReason.OUT_OF_ORDER,
            4,
        ),
    ],
)
async def test_a_superusers_tampering_is_found(
    api_database: Database, superuser: Superuser, organization, tampering: str, reason: FaultReason, seq: int
) -> None:
    await _append(api_database, organization.org_id, _events(6))
    await apply_before_reading(api_database, organization.org_id)
    superuser.execute(tampering.encode(), [organization.org_id])
    result = await verify_range(api_database, organization.org_id)
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq) == (reason, seq)


async def test_a_row_moved_out_of_a_range_by_its_time_is_found(
    api_database: Database, superuser: Superuser, organization
) -> None:
    await _append(api_database, organization.org_id, _events(3))
    await apply_before_reading(api_database, organization.org_id)
    middle = datetime.now(UTC)
    await _append(api_database, organization.org_id, _events(3))
    await apply_before_reading(api_database, organization.org_id)
    assert (await verify_range(api_database, organization.org_id, middle)).events_verified == 3
    superuser.execute(
        "UPDATE audit_chain SET sealed_at = %s WHERE org_id = %s AND seq = 4",
        [middle - timedelta(hours=1), organization.org_id],
    )
    result = await verify_range(api_database, organization.org_id, middle)
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq) == (FaultReason.COLUMN_CHANGED, 4)


async def test_a_range_whose_events_are_all_gone_is_not_valid(
    api_database: Database, superuser: Superuser, organization
) -> None:
    bounds = []
    for _ in range(3):
        await _append(api_database, organization.org_id, _events(2))
        await apply_before_reading(api_database, organization.org_id)
        bounds.append(datetime.now(UTC))
    assert (await verify_range(api_database, organization.org_id, bounds[0], bounds[1])).events_verified == 2
    superuser.execute("DELETE FROM audit_chain WHERE org_id = %s AND seq IN (3, 4)", [organization.org_id])
    result = await verify_range(api_database, organization.org_id, bounds[0], bounds[1])
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq) == (FaultReason.MISSING, 3)
    # Before the first event and after the last there was never anything.
    for start, end in ((None, bounds[0] - timedelta(days=1)), (bounds[2] + timedelta(days=1), None)):
        empty = await verify_range(api_database, organization.org_id, start, end)
        assert (empty.valid, empty.events_verified) == (True, 0)


async def test_a_payload_that_was_taken_away_is_told_and_the_list_shows_the_rest(
    api_database: Database, superuser: Superuser, organization
) -> None:
    await _append(api_database, organization.org_id, _events(3))
    await apply_before_reading(api_database, organization.org_id)
    superuser.execute(
        "UPDATE audit_events SET salt = NULL, payload = NULL WHERE org_id = %s AND seq = 2", [organization.org_id]
    )
    result = await verify_range(api_database, organization.org_id)
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq) == (FaultReason.PAYLOAD_MISSING, 2)
    async with api_database.transaction(organization.org_id) as connection:
        page = await store.list_events(connection, organization.org_id, EventFilter())
    assert [(event.actor, event.data) for event in page.events][1] == (None, {})


async def test_a_busy_chain_lets_a_reader_read_what_is_sealed(
    api_database: Database, superuser: Superuser, organization, cluster
) -> None:
    """After two seconds, however long its statements may take otherwise."""
    patient = Database(Secret(cluster.dsn("headgate_api")), timeout_seconds=600, entry_codes=CODES)
    await patient.open()
    await _append(api_database, organization.org_id, _events(1))
    with superuser.transaction():
        superuser.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('headgate.seal ' || %s, 0))", [organization.org_id]
        )
        started = time.monotonic()
        await apply_before_reading(patient, organization.org_id)
        assert 1.5 < time.monotonic() - started < 300
    await patient.close()
    await apply_before_reading(api_database, organization.org_id)
    assert (await verify_range(api_database, organization.org_id)).events_verified == 1


async def test_one_organization_that_cannot_be_sealed_does_not_stop_the_others(
    api_database: Database, worker_database: Database, superuser: Superuser, new_organization
) -> None:
    broken, sound = new_organization(), new_organization()
    await _append(api_database, broken.org_id, _events(1))
    await apply_due(worker_database)
    superuser.execute("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$")
    superuser.execute(
        f"CREATE TRIGGER refuse BEFORE INSERT ON audit_chain FOR EACH ROW WHEN (NEW.org_id = '{broken.org_id}')"
        " EXECUTE FUNCTION refuse()".encode()
    )
    try:
        await _append(api_database, broken.org_id, _events(1))
        await _append(api_database, sound.org_id, _events(1))
        assert await apply_due(worker_database) >= 1
        assert (await verify_range(api_database, sound.org_id)).events_verified == 1
    finally:
        superuser.execute("DROP TRIGGER refuse ON audit_chain")
        superuser.execute("DROP FUNCTION refuse")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_chain SET hash = hash",
        "DELETE FROM audit_chain",
        "TRUNCATE audit_chain",
        "INSERT INTO audit_chain SELECT * FROM audit_chain",
        "UPDATE audit_events SET payload = payload",
        "DELETE FROM audit_events",
        "DELETE FROM journal",
        "INSERT INTO journal (org_id, created_at, entries) VALUES ('o', now(), '')",
        "DELETE FROM journal_set_aside",
        "SELECT * FROM audit_events_rest",
    ],
)
@pytest.mark.parametrize("role", ["headgate_api", "headgate_worker", "headgate_proxy"])
def test_no_part_can_change_the_record(cluster, role: str, statement: str) -> None:
    with (
        psycopg.connect(cluster.dsn(role), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


def test_the_proxy_does_not_read_what_is_not_applied(cluster, organization) -> None:
    """Those that apply it do; row-level security shows them one organization."""
    read = "SELECT * FROM journal"
    for role in ("headgate_api", "headgate_worker"):
        with psycopg.connect(cluster.dsn(role), autocommit=True) as connection:
            assert connection.execute(read).fetchall() == []
    with (
        psycopg.connect(cluster.dsn("headgate_proxy"), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(read)


@pytest.mark.parametrize(
    "columns",
    [
        {"event_type": 'x","v":1}', "action_id": None, "agent_id": None},
        {"event_type": "action.submitted", "action_id": 'a"', "agent_id": None},
        {"event_type": "action.submitted", "action_id": None, "agent_id": "a\\"},
        {"event_type": "Action", "action_id": None, "agent_id": None},
    ],
)
def test_what_would_forge_a_header_is_refused_at_the_door(
    cluster, organization, columns: dict[str, str | None]
) -> None:
    with psycopg.connect(cluster.dsn("headgate_api")) as connection:
        connection.execute("SELECT set_config('app.org_id', %s, true)", [organization.org_id])
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(
                "INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)"
                " VALUES (%s, %s, %s, %s, now(), '{}')",
                [organization.org_id, columns["event_type"], columns["action_id"], columns["agent_id"]],
            )


async def test_partitions_are_made_once_and_by_any_number_at_once(
    superuser: Superuser, worker_database: Database
) -> None:
    def partitions() -> set[object]:
        found = superuser.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", ["audit_events"]
        )
        return {name for (name,) in found}

    async def ensure() -> None:
        async with worker_database.across_organizations() as connection:
            await store.ensure_partitions(connection)

    there = partitions()
    next_month = max(str(name) for name in there if name != "audit_events_rest")
    superuser.execute(f"DROP TABLE {next_month}")
    await asyncio.gather(*(ensure() for _ in range(4)))
    assert partitions() == there


async def test_the_lag_counts_what_waits(api_database: Database, worker_database: Database, organization) -> None:
    await _append(api_database, organization.org_id, _events(3))
    async with worker_database.across_organizations() as connection:
        behind = await store.journal_lag(connection)
    assert behind.rows >= 3
    assert behind.oldest_seconds > 0
    await apply_due(worker_database)
    async with worker_database.across_organizations() as connection:
        assert (await store.journal_lag(connection)).rows == 0
