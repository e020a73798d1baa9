"""Reading ahead on one connection: the same rows, and nothing under way afterwards, however it ends."""

import asyncio
from datetime import UTC, datetime

import pytest

from headgate.audit import store
from headgate.audit.chain_store import ask_window, fetch_window
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.windows import windows
from headgate.db.database import Connection, Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret

_RUN = [(1, 400), (401, 800), (801, 1000)]


@pytest.fixture
async def org_id(api_database: Database, organization) -> str:
    events = [Event(EventType.DECISION_MADE, datetime.now(UTC), SYSTEM, {"n": number}) for number in range(1000)]
    async with api_database.transaction(organization.org_id) as connection:
        await store.append(connection, organization.org_id, events)
    await apply_before_reading(api_database, organization.org_id)
    return str(organization.org_id)


def _under_way() -> list[str]:
    names = (getattr(task.get_coro(), "__name__", "") for task in asyncio.all_tasks())
    return [name for name in names if name in (ask_window.__name__, "to_thread")]


async def _is_free(connection: Connection) -> None:
    """Nothing of ours goes on, and the transaction is good for something."""
    assert _under_way() == []
    cursor = await connection.execute("SELECT 1 AS one")
    assert await cursor.fetchone() == {"one": 1}


async def test_each_window_is_what_is_fetched_alone(api_database: Database, org_id: str) -> None:
    async with api_database.transaction(org_id) as connection:
        alone = [await fetch_window(connection, org_id, *window) for window in _RUN]
        async with windows(connection, org_id) as coming:
            coming.ask(*_RUN[0])
            ahead = [await coming.take(following) for following in (*_RUN[1:], None)]
        assert ahead == alone
        assert [len(rows) for rows in ahead] == [400, 400, 200]
        await _is_free(connection)


async def test_whoever_stops_early_can_go_on_with_the_connection(api_database: Database, org_id: str) -> None:
    async with api_database.transaction(org_id) as connection:
        async with windows(connection, org_id) as coming:
            coming.ask(*_RUN[0])
            assert len(await coming.take(_RUN[1])) == 400
            # While the next is under way.
            assert len(await fetch_window(connection, org_id, 5, 6)) == 2
        await _is_free(connection)


async def test_an_error_leaves_nothing_under_way(api_database: Database, org_id: str) -> None:
    with pytest.raises(LookupError):
        async with api_database.transaction(org_id) as connection, windows(connection, org_id) as coming:
            coming.ask(*_RUN[0])
            await coming.take(_RUN[1])
            raise LookupError
    assert _under_way() == []
    async with api_database.transaction(org_id) as connection:
        await _is_free(connection)


async def test_whoever_is_cancelled_takes_the_server_with_it(cluster, superuser, org_id: str) -> None:
    patient = Database(Secret(cluster.dsn("headgate_api")), timeout_seconds=300)
    await patient.open()

    async def read() -> None:
        async with patient.transaction(org_id) as connection, windows(connection, org_id) as coming:
            coming.ask(*_RUN[0])
            await coming.take(None)

    def waits() -> bool:
        found = superuser.execute("SELECT FROM pg_locks WHERE NOT granted AND relation = 'audit_chain'::regclass")
        return found.rowcount == 1

    superuser.execute("BEGIN")
    superuser.execute("LOCK TABLE audit_chain IN ACCESS EXCLUSIVE MODE")
    try:
        reading = asyncio.ensure_future(read())
        async with asyncio.timeout(120):
            while not waits():
                await asyncio.sleep(0.01)
        assert _under_way()
        reading.cancel()
        with pytest.raises((asyncio.CancelledError, UnavailableError)):
            await reading
    finally:
        superuser.execute("ROLLBACK")
    assert _under_way() == []
    async with patient.transaction(org_id) as connection:
        await _is_free(connection)
    await patient.close()
