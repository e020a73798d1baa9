"""The whole worker against a real server: it does its jobs, survives the server's absence, and stops."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from headgate.actions.instance import Instance
from headgate.actions.store import get_action
from headgate.audit import store as audit_store
from headgate.audit.model import EventFilter
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.worker.main import run_until
from headgate.worker.orphans import OrphanWatch
from headgate.worker.settings import WorkerSettings


@pytest.fixture
async def worker(cluster, tmp_path: Path) -> AsyncIterator[asyncio.Task[None]]:
    stop = asyncio.Event()
    settings = WorkerSettings(Secret(cluster.dsn("headgate_worker")), Secret("redis://127.0.0.1:1"), tmp_path)
    async with asyncio.TaskGroup() as group:
        yield group.create_task(run_until(settings, stop))
        stop.set()


async def _eventually(check: Callable[[], Awaitable[bool]], *, within_seconds: float = 8) -> None:
    async with asyncio.timeout(within_seconds):
        while not await check():
            await asyncio.sleep(0.05)


async def test_the_worker_seals_and_expires_without_valkey(
    worker: asyncio.Task[None], api_database: Database, organization, hold
) -> None:
    held = await hold(organization, expires_in=timedelta(milliseconds=100))

    async def sealed_expiry() -> bool:
        async with api_database.transaction(organization.org_id) as connection:
            page = await audit_store.list_events(
                connection, organization.org_id, EventFilter(event_type="approval.expired")
            )
            action = (await get_action(connection, organization.org_id, held.action_id)).action
        return len(page.events) == 1 and action.status == "denied"

    await _eventually(sealed_expiry)
    assert not worker.done()


async def test_the_worker_goes_on_when_its_connections_die(
    worker: asyncio.Task[None],
    api_database: Database,
    superuser: psycopg.Connection[tuple[object, ...]],
    cluster,
    organization,
    hold,
) -> None:
    for _ in range(3):
        superuser.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'headgate_worker' AND datname = %s",
            [cluster.name],
        )
        await asyncio.sleep(0.1)
    await hold(organization)

    async def sealed() -> bool:
        async with api_database.transaction(organization.org_id) as connection:
            return (await audit_store.list_events(connection, organization.org_id, EventFilter())).total == 3

    await _eventually(sealed)
    assert not worker.done()


async def test_after_an_outage_processes_are_given_time_to_beat_again(
    worker_database: Database, proxy_database: Database, api_database: Database, organization, execute, applied
) -> None:
    seconds = 0.0
    reachable = OrphanWatch(
        worker_database, system_clock, lambda: seconds, dead_after=timedelta(seconds=3), grace=timedelta(0)
    )
    instance = Instance("proxy", proxy_database)
    left = await execute(organization, instance.instance_id, started_at=datetime.now(UTC) - timedelta(minutes=1))
    await applied()
    assert await reachable.run() == 0
    seconds = 4.9
    assert await reachable.run() == 0
    seconds = 5.0
    assert await reachable.run() >= 1
    async with api_database.transaction(organization.org_id) as connection:
        cursor = await connection.execute("SELECT status FROM executions WHERE execution_id = %s", [left.execution_id])
        assert await cursor.fetchall() == [{"status": "failed"}]


async def test_rows_of_silent_processes_are_deleted_after_the_wait_alone(
    worker_database: Database, proxy_database: Database, superuser
) -> None:
    seconds = 0.0
    watch = OrphanWatch(worker_database, system_clock, lambda: seconds)
    instance = Instance("proxy", proxy_database)
    await instance.beat()
    superuser.execute(
        "UPDATE instances SET heartbeat_at = now() - interval '2 hours' WHERE instance_id = %s", [instance.instance_id]
    )

    def is_known() -> bool:
        found = superuser.execute("SELECT FROM instances WHERE instance_id = %s", [instance.instance_id])
        return found.rowcount == 1

    await watch.run()
    assert is_known()
    seconds = 60.0
    await watch.run()
    assert not is_known()


async def test_the_waiting_begins_anew_when_the_database_goes_away() -> None:
    nowhere = Database(Secret("host=127.0.0.1 port=1 dbname=none"), timeout_seconds=0.1)
    seconds = iter([0.0, 60.0])
    watch = OrphanWatch(nowhere, system_clock, lambda: next(seconds))
    await nowhere.open()
    try:
        for _ in range(2):
            with pytest.raises(UnavailableError):
                await watch.run()
    finally:
        await nowhere.close()
