"""A disk that is full: what is acknowledged is durable, what is not is refused, and sealing goes on where it stopped.

A full disk is made with RLIMIT_FSIZE (setrlimit(2)) around a PostgreSQL of this test's own: it cannot make any file
larger than that, which fails where ENOSPC fails, and is told in the same way.
"""

import os
import resource
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from benchmarks.load.record_database import RecordDatabase, record_database
from headgate.audit import store
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.db.database import Database
from headgate.journal.apply import apply_due
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.account import child_setup
from tests.entry_codes import CODES
from tests.integration.audit.verify_range import verify_range

_FULL_BYTES = 24 << 20
_PAYLOAD_BYTES = 256 << 10


@pytest.fixture
def stopped(tmp_path: Path) -> RecordDatabase:
    """A server with a migrated database and an organization, which does not run now."""
    with record_database(tmp_path) as made:
        return made


@contextmanager
def _running(made: RecordDatabase, most_bytes: int, *, end: signal.Signals = signal.SIGINT) -> Iterator[None]:
    """The server, with no file larger than that from now on. ``end`` SIGQUIT: cut off, as by a loss of power."""
    program = made.server.program()
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, unlimited[1]))
    try:
        process = subprocess.Popen(
            program.command,
            env=dict(program.environment),
            cwd="/",
            start_new_session=True,
            preexec_fn=child_setup(program.death_signal, program.account),  # noqa: PLW1509 - as server_process does
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    try:
        until = time.monotonic() + 300
        while True:
            try:
                psycopg.connect(made.dsn("postgres")).close()
                break
            except psycopg.OperationalError:
                assert time.monotonic() < until
                time.sleep(0.05)
        yield
    finally:
        process.send_signal(end)
        process.wait(300)


@asynccontextmanager
async def _databases(made: RecordDatabase) -> AsyncIterator[tuple[Database, Database]]:
    api, worker = (Database(Secret(made.dsn(f"headgate_{part}")), entry_codes=CODES) for part in ("api", "worker"))
    await api.open()
    await worker.open()
    try:
        yield api, worker
    finally:
        await api.close()
        await worker.close()


async def _append(database: Database, org_id: str, number: int) -> None:
    data = {"n": number, "text": os.urandom(_PAYLOAD_BYTES // 2).hex()}
    async with database.transaction(org_id) as connection:
        await store.append(connection, org_id, [Event(EventType.DECISION_MADE, datetime.now(UTC), SYSTEM, data)])


async def test_a_full_disk_refuses_and_loses_nothing(stopped: RecordDatabase) -> None:
    acknowledged, org_id = 0, stopped.org_id
    with _running(stopped, _FULL_BYTES):
        async with _databases(stopped) as (api, _):
            with pytest.raises(UnavailableError) as refused:
                while acknowledged < 2 * _FULL_BYTES // _PAYLOAD_BYTES:
                    await _append(api, org_id, acknowledged)
                    acknowledged += 1
            assert acknowledged > _FULL_BYTES // _PAYLOAD_BYTES // 2
            assert "File too large" in str(refused.value.__cause__)
    # Fuller still, for the log before all else (which kills the server): what is not sealed stays where it is.
    with _running(stopped, _FULL_BYTES // 2, end=signal.SIGQUIT):
        async with _databases(stopped) as (_, worker):
            with pytest.raises(UnavailableError):
                while await apply_due(worker):
                    pass
    # Somebody made room.
    with _running(stopped, resource.RLIM_INFINITY):
        with psycopg.connect(stopped.dsn("postgres"), autocommit=True) as superuser:
            [(waiting,)] = superuser.execute("SELECT count(*) FROM journal").fetchall()
            [(sealed_before,)] = superuser.execute("SELECT count(*) FROM audit_chain").fetchall()
            assert (waiting + sealed_before, waiting > 0) == (acknowledged, True)
        async with _databases(stopped) as (api, worker):
            await _append(api, org_id, acknowledged)
            sealed = 0
            while just_sealed := await apply_due(worker):
                sealed += just_sealed
            assert sealed == waiting + 1
            found = await verify_range(api, org_id)
            assert (found.fault, found.events_verified) == (None, acknowledged + 1)
