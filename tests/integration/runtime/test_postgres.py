"""The embedded PostgreSQL: durable, private, and up again after whatever happened to it."""

import asyncio
import os
import signal
import subprocess
from contextlib import nullcontext

import psycopg
import pytest

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres
from headgate.runtime.database_roles import check_password, ensure_database, prepare_database
from headgate.runtime.postgres import PostgresServer, clear_stale_lock, explain, initialize, wait_until_ready
from headgate.runtime.secrets_file import InstanceSecrets
from headgate.runtime.server_process import Program, start
from headgate.runtime.servers import start_postgres
from headgate.runtime.supervisor import Supervisor


async def test_from_nothing_to_every_role(
    server: PostgresServer, secrets: InstanceSecrets, supervisor: Supervisor, data: DataDirectory
) -> None:
    """One story, because making a cluster takes a second: roles, settings, privacy, kill -9, a second start."""
    await start_postgres(server, secrets, supervisor)
    applied = await prepare_database(server, secrets)
    assert applied
    assert await prepare_database(server, secrets) == []

    for role in ("headgate_owner", "headgate_api", "headgate_proxy", "headgate_worker", "headgate_auditor"):
        with psycopg.connect(server.url(role, secrets.passwords[role]).reveal()) as connection:
            row = connection.execute(
                "SELECT current_user, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
            assert row == (role, False)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url(role, Secret("wrong")).reveal())

    administrator = server.url("postgres", secrets.passwords["postgres"]).reveal()
    with psycopg.connect(administrator, autocommit=True) as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes", "data_checksums"):
            assert connection.execute(f"SHOW {setting}").fetchone() == ("on",)
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
    psql = subprocess.run(
        [str(postgres.binaries() / "psql"), administrator, "-Atc", "SELECT current_user"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert psql.stdout == "postgres\n"
    assert server.sockets.stat().st_mode & 0o077 == 0
    if os.geteuid() == 0:
        assert server.folder.stat().st_uid != 0, "PostgreSQL must not own its files as root"
    log = server.log.read_text()
    assert not [role for role, password in secrets.passwords.items() if password.reveal() in log]

    [before] = supervisor.pids["postgres"]
    os.kill(before, signal.SIGKILL)

    async with asyncio.timeout(30):
        while supervisor.pids.get("postgres", [before]) == [before] or not _answers(administrator):
            await asyncio.sleep(0.05)
    with psycopg.connect(administrator) as connection:
        assert connection.execute("SELECT one FROM kept").fetchone() == (1,)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


async def test_a_lock_of_a_dead_server_whose_number_another_process_has_is_taken_away(
    server: PostgresServer, secrets: InstanceSecrets, supervisor: Supervisor
) -> None:
    """After a crash the number in postmaster.pid may be anybody's; PostgreSQL would refuse to start."""
    await initialize(server, secrets.passwords["postgres"])
    with subprocess.Popen(["sleep", "100"]) as innocent:
        try:
            (server.folder / "postmaster.pid").write_text(
                f"{innocent.pid}\n{server.folder}\n0\n5432\n{server.sockets}\n\n0 0\n"
            )
            await start_postgres(server, secrets, supervisor)
            assert innocent.poll() is None, "the innocent process was ended"
        finally:
            innocent.kill()


async def test_an_interrupted_initialization_leaves_nothing_that_looks_whole(
    server: PostgresServer, secrets: InstanceSecrets
) -> None:
    draft = server.folder.with_name("postgres.new")
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18\n")
    assert await initialize(server, secrets.passwords["postgres"])
    assert not draft.exists()
    assert not await initialize(server, secrets.passwords["postgres"])


@pytest.mark.parametrize(
    ("version", "says"), [("16\n", "belongs to PostgreSQL 16"), (None, "not a PostgreSQL cluster")]
)
async def test_a_cluster_of_another_version_is_refused(
    server: PostgresServer, secrets: InstanceSecrets, version: str | None, says: str
) -> None:
    server.folder.mkdir()
    if version is not None:
        (server.folder / "PG_VERSION").write_text(version)
    with pytest.raises(UnavailableError, match=says):
        await initialize(server, secrets.passwords["postgres"])


async def test_a_server_that_cannot_start_says_why(
    server: PostgresServer, secrets: InstanceSecrets, supervisor: Supervisor
) -> None:
    await initialize(server, secrets.passwords["postgres"])
    (server.folder / "postgresql.auto.conf").write_text("no_such_setting = 1\n")
    with pytest.raises(UnavailableError, match="no_such_setting"):
        await start_postgres(server, secrets, supervisor)
    assert supervisor.pids == {}


async def test_another_password_than_the_secrets_files_is_named(
    server: PostgresServer, secrets: InstanceSecrets, supervisor: Supervisor
) -> None:
    await initialize(server, Secret("another"))
    await start_postgres(server, secrets, supervisor)
    for ask in (prepare_database, ensure_database):
        with pytest.raises(UnavailableError, match="another password than the secrets file: restore the file"):
            await ask(server, secrets)
    await check_password(server, Secret("another"))
    with pytest.raises(UnavailableError, match="another password"):
        await check_password(server, secrets.passwords["postgres"])


@pytest.mark.parametrize(
    ("pid", "state", "is_ready"),
    [("{}", "ready   ", True), ("{}", "starting", False), ("{}", None, False), ("1{}", "ready   ", False)],
)
async def test_it_is_ready_when_its_own_lock_says_so(
    server: PostgresServer, pid: str, state: str | None, is_ready: bool
) -> None:
    """A server that was killed leaves a lock that says ready, of another process."""
    running = await start(Program("sleep", ("/usr/bin/sleep", "100"), {}))
    try:
        lines = [pid.format(running.pid), str(server.folder), "0", "5432", str(server.sockets), "", "0 0"]
        server.folder.mkdir()
        (server.folder / "postmaster.pid").write_text("\n".join([*lines, *([state] if state else [])]) + "\n")
        with nullcontext() if is_ready else pytest.raises(UnavailableError, match="was not ready within"):
            await wait_until_ready(server, running, 0.1)
    finally:
        await running.stop()


async def test_no_lock_is_no_trouble(server: PostgresServer) -> None:
    await clear_stale_lock(server)


def test_a_full_disk_is_told_from_the_log() -> None:
    assert "the disk is full" in explain("x", "PANIC:  could not write: No space left on device").message
