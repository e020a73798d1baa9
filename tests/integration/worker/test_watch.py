"""One statement that says which loops have something to do, on a real server."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.worker.due_store import OFTEN, SELDOM, DueSettings, who_is_due
from headgate.worker.loop import Loop
from headgate.worker.watch import Watch

_DAY = timedelta(days=1)


@pytest.fixture
async def looking(cluster: Any) -> AsyncIterator[Database]:
    database = Database(Secret(cluster.dsn("headgate_worker")), max_connections=1, checked=False, timeout_seconds=1)
    await database.open()
    yield database
    await database.close()


async def test_every_question_can_be_asked_at_once(looking: Database) -> None:
    due = await who_is_due(looking, [*OFTEN, *SELDOM], DueSettings(system_clock(), _DAY, 1_000))
    assert set(due) <= {*OFTEN, *SELDOM}


async def test_a_call_wakes_the_applier_and_an_expired_hold_its_loop(
    looking: Database, organization: Any, hold: Any
) -> None:
    await hold(organization, expires_in=timedelta(milliseconds=1))
    loops = {name: Loop(name, _nothing, 1, 1, wake=asyncio.Event()) for name in ("apply", "expire")}
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(Watch(looking, system_clock, _DAY, 1_000).keep_looking(list(loops.values()), stop))
        async with asyncio.timeout(8):
            for loop in loops.values():
                assert loop.wake is not None
                await loop.wake.wait()
        stop.set()


async def test_a_server_that_is_away_is_reported() -> None:
    database = Database(Secret("postgresql://127.0.0.1:1/x"), max_connections=1, timeout_seconds=0.2)
    await database.open()
    try:
        with pytest.raises(UnavailableError):
            await who_is_due(database, list(OFTEN), DueSettings(system_clock(), _DAY, 1))
    finally:
        await database.close()


async def test_a_watch_that_cannot_look_wakes_every_loop() -> None:
    database = Database(Secret("postgresql://127.0.0.1:1/x"), max_connections=1, timeout_seconds=0.2)
    await database.open()
    loops = {name: Loop(name, _nothing, 1, 1, wake=asyncio.Event()) for name in (*OFTEN, *SELDOM)}
    stop = asyncio.Event()
    try:
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            group.create_task(Watch(database, system_clock, _DAY, 1).keep_looking(list(loops.values()), stop))
            for loop in loops.values():
                assert loop.wake is not None
                await loop.wake.wait()
            stop.set()
    finally:
        await database.close()


async def _nothing() -> int:
    return 0
