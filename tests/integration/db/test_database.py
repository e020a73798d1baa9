"""A pool against a server whose connections are there and do not answer."""

import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from headgate.db.database import Database
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
