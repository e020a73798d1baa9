"""A pool against a server whose connections are there and do not answer."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest
from psycopg.pq import TransactionStatus

from headgate.db.database import Database, awaited_in_thread
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret

TIMEOUT_SECONDS = 1.0


@pytest.fixture
async def database(database_urls) -> AsyncIterator[Database]:
    database = Database(Secret(database_urls.api), max_connections=2, timeout_seconds=TIMEOUT_SECONDS)
    await database.open()
    yield database
    await database.close()


async def backend(database: Database) -> int:
    async with database.across_organizations() as connection:
        row = await (await connection.execute("SELECT pg_backend_pid() AS pid")).fetchone()
    assert row is not None
    return int(row["pid"])


async def test_an_idle_connection_that_stands_still_is_replaced(database) -> None:
    stopped = await backend(database)
    os.kill(stopped, signal.SIGSTOP)
    try:
        assert await backend(database) != stopped
    finally:
        os.kill(stopped, signal.SIGCONT)


async def test_standing_still_in_the_middle_of_a_transaction(database) -> None:
    began = time.monotonic()
    with pytest.raises(UnavailableError):
        async with database.across_organizations() as connection:
            row = await (await connection.execute("SELECT pg_backend_pid() AS pid")).fetchone()
            os.kill(row["pid"], signal.SIGSTOP)
            try:
                await connection.execute("SELECT 1")
            finally:
                os.kill(row["pid"], signal.SIGCONT)
    assert time.monotonic() - began >= TIMEOUT_SECONDS
    # The pool goes on with another connection.
    assert await backend(database) != row["pid"]


async def test_a_statement_that_is_slow_but_alive_is_not_cut_off(database) -> None:
    async with database.across_organizations() as connection:
        await connection.execute("SELECT pg_sleep(%s)", [1.5 * TIMEOUT_SECONDS])


async def test_a_large_answer_that_is_awaited_in_a_thread(database) -> None:
    async with database.across_organizations() as connection:
        with awaited_in_thread(connection):
            cursor = await connection.execute("SELECT n, repeat('x', 1000) AS text FROM generate_series(1, 5000) AS n")
        rows = await cursor.fetchall()
    assert [row["n"] for row in rows] == list(range(1, 5001))
    assert {len(row["text"]) for row in rows} == {1000}


async def test_a_thread_does_not_wait_for_a_server_that_stands_still(database) -> None:
    with pytest.raises(UnavailableError):
        async with database.across_organizations() as connection:
            row = await (await connection.execute("SELECT pg_backend_pid() AS pid")).fetchone()
            os.kill(row["pid"], signal.SIGSTOP)
            try:
                with awaited_in_thread(connection):
                    await connection.execute("SELECT 1")
            finally:
                os.kill(row["pid"], signal.SIGCONT)
    assert await backend(database) != row["pid"]


async def _sleeping(database: Database) -> int:
    """How many statements of an hour the server works at."""
    async with database.across_organizations() as connection:
        row = await (
            await connection.execute(
                "SELECT count(*) AS sleeping FROM pg_stat_activity WHERE query ~ 'pg_sleep.3600' AND state = 'active'"
                " AND pid <> pg_backend_pid()"
            )
        ).fetchone()
    assert row is not None
    return int(row["sleeping"])


async def test_cancelled_while_a_thread_waits(database) -> None:
    """The statement is cancelled too, and nobody else gets the connection before its thread is done with it."""
    began = asyncio.Event()

    async def sleep() -> None:
        async with database.across_organizations() as connection:
            with awaited_in_thread(connection):
                began.set()
                await connection.execute("SELECT pg_sleep(3600)")

    sleeping = asyncio.create_task(sleep())
    await began.wait()
    await asyncio.sleep(0)  # into its statement
    sleeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeping
    # The server hears of it a moment later.
    async with asyncio.timeout(60):
        while await _sleeping(database):
            await asyncio.sleep(0.01)


async def test_cancelled_again_while_it_is_being_cancelled(database) -> None:
    """As whoever stops a process does. The thread is waited for all the same, and its connection is as good as new."""
    at: list[int] = []

    async def sleep() -> None:
        async with database.across_organizations() as connection:
            at.append(connection.info.backend_pid)
            with awaited_in_thread(connection):
                await connection.execute("SELECT pg_sleep(3600)")

    async def is_sleeping() -> bool:
        async with database.across_organizations() as connection:
            cursor = await connection.execute(
                "SELECT state = 'active' AND query ~ 'pg_sleep' AS sleeping FROM pg_stat_activity WHERE pid = %s",
                [at[0]],
            )
            return await cursor.fetchone() == {"sleeping": True}

    sleeping = asyncio.create_task(sleep())
    while not at or not await is_sleeping():
        await asyncio.sleep(0.01)
    for _ in range(3):
        sleeping.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await sleeping
    async with database.across_organizations() as one, database.across_organizations() as other:
        assert at[0] in {one.info.backend_pid, other.info.backend_pid}


async def test_a_full_disk_is_named(database) -> None:
    """As the server says it (SQLSTATE 53100), whatever file it was."""
    full = "DO $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
    with pytest.raises(UnavailableError, match="the database's disk is full: nothing was changed; make room"):
        async with database.across_organizations() as connection:
            await connection.execute(full)


async def test_a_single_statement_leaves_no_transaction_open(database) -> None:
    async with database.single_statement() as connection:
        await connection.execute("SELECT 1")
        assert connection.info.transaction_status is TransactionStatus.IDLE
    async with database.across_organizations() as connection:
        await connection.execute("SELECT 1")
        assert connection.info.transaction_status is TransactionStatus.INTRANS
