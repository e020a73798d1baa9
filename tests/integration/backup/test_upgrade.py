"""``headgate upgrade`` from an older major version of PostgreSQL, whose programs the wheel brings too.

The schema needs PostgreSQL 18, so that no data of Headgate is older yet: the tables here are others, with the roles,
the row-level security and the functions of another owner that matter.
"""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from headgate.backup.programs import major_of
from headgate.backup.source import running_server
from headgate.backup.target import make_roles
from headgate.configuration.data_directory import DataDirectory
from headgate.runtime import postgres
from headgate.runtime.account import server_account
from headgate.runtime.database_roles import OWNER, ensure_database
from headgate.runtime.folders import open_data_directory, private_folder, socket_folder
from headgate.runtime.postgres import MAJOR_VERSION, SUPERUSER, PostgresServer
from headgate.runtime.secrets_file import load_secrets
from headgate.runtime.server_process import Program, start
from tests.e2e.waiting import wait_for
from tests.integration.backup.conftest import Run, command, environment, opened

_ROWS = 3000


def _older() -> Path:
    [found] = [one for one in postgres.brought_programs() if major_of(one / "postgres") not in (None, MAJOR_VERSION)]
    return found


def _major() -> int:
    major = major_of(_older() / "postgres")
    assert major is not None
    return major


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A data directory whose cluster is of the older version."""
    folder = tmp_path / "data"
    asyncio.run(_make(DataDirectory(folder)))
    return folder


async def _make(data: DataDirectory) -> None:
    open_data_directory(data)
    secrets = load_secrets(data)
    password = secrets.passwords[SUPERUSER]
    account = server_account([_older() / "postgres", data.postgres])
    server = PostgresServer(data.postgres, socket_folder(data, account), data.logs / "postgres.log", account)
    private_folder(data.postgres, account)
    initdb = (str(_older() / "initdb"), "-D", str(data.postgres), "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8")
    running = await start(Program("initdb", (*initdb, "--locale=C"), {"PATH": "/usr/bin"}, server.log, account))
    assert await running.wait() == 0, server.log.read_text()
    async with running_server(server, password, _older()):
        await ensure_database(server, secrets)
        with psycopg.connect(server.url(SUPERUSER, password).reveal(), autocommit=True) as connection:
            make_roles(connection, OWNER)
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(OWNER)))
            connection.execute("CREATE TABLE kept (number integer PRIMARY KEY, text text)")
            connection.execute("ALTER TABLE kept ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
            connection.execute("CREATE POLICY one ON kept TO headgate_definer USING (true)")
            connection.execute("GRANT SELECT ON kept TO headgate_api")
            connection.execute("SET ROLE headgate_definer")
            connection.execute("CREATE FUNCTION three() RETURNS integer LANGUAGE sql SECURITY DEFINER RETURN 3")
            connection.execute("RESET ROLE")
            connection.execute(
                "INSERT INTO kept SELECT n, repeat(md5(n::text), 50) FROM generate_series(1, %s) n", [_ROWS]
            )


@contextmanager
def _connected(folder: Path) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with opened(folder) as database, psycopg.connect(database, autocommit=True) as connection:
        yield connection


def _require_moved(folder: Path) -> None:
    with _connected(folder) as connection:
        assert connection.info.server_version // 10_000 == MAJOR_VERSION
        assert connection.execute("SELECT count(*), max(length(text)) FROM kept").fetchone() == (_ROWS, 1600)
        owners = connection.execute(
            "SELECT pg_get_userbyid(relowner), relforcerowsecurity, relacl::text LIKE '%headgate_api=r/%',"
            " (SELECT pg_get_userbyid(proowner) FROM pg_proc WHERE proname = 'three')"
            " FROM pg_class WHERE relname = 'kept'"
        ).fetchone()
        assert owners == (OWNER, True, True, "headgate_definer")


def test_it_moves_the_database_and_keeps_the_old_one(old: Path, run: Run) -> None:
    up = run("up", "--data-dir", old)
    assert up.returncode == 1
    assert (
        f"belongs to PostgreSQL {_major()}, and this version brings {MAJOR_VERSION}: run headgate upgrade" in up.stderr
    )
    done = run("upgrade", "--data-dir", old)
    assert done.returncode == 0, done.stderr
    assert f"moved the database from PostgreSQL {_major()} to {MAJOR_VERSION}: {_ROWS} rows" in done.stdout
    [kept] = old.glob("before-upgrade-*")
    assert (kept / "postgres/PG_VERSION").read_text() == f"{_major()}\n"
    assert not (old / "upgrading").exists()
    _require_moved(old)
    assert run("upgrade", "--data-dir", old).stdout == "up to date\n"


def test_a_killed_upgrade_leaves_the_old_database_and_is_done_again(old: Path, run: Run) -> None:
    process = subprocess.Popen(command("upgrade", "--data-dir", old), env=environment(), stderr=subprocess.PIPE)
    wait_for((old / "upgrading/postgres").exists, "the new cluster is made")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    up = run("up", "--data-dir", old)
    assert up.returncode == 1
    assert f"an upgrade of the database in {old} was interrupted: run headgate upgrade again" in up.stderr
    assert postgres.version_of(old / "postgres") == str(_major())
    done = run("upgrade", "--data-dir", old)
    assert done.returncode == 0, done.stderr
    _require_moved(old)


def test_what_cannot_be_upgraded_says_what_to_do(old: Path, run: Run, tmp_path: Path) -> None:
    missing = run("upgrade", "--data-dir", old, "--old-binaries", tmp_path)
    assert missing.returncode == 1
    assert f"the programs of PostgreSQL {_major()} were not found in {tmp_path}" in missing.stderr
    assert f"Install postgresql-{_major()} and run the command again" in missing.stderr
    (old / "postgres/PG_VERSION").write_text("99\n")
    for words in (("up",), ("upgrade",), ("backup", "create", "--unencrypted")):
        later = run(*words, "--data-dir", old)
        assert later.returncode == 1
        assert "belongs to PostgreSQL 99, and this version brings 18: install the version of Headgate" in later.stderr
    own = run("upgrade", "--data-dir", old, HEADGATE_DATABASE_URL="postgresql://a@b/c")
    assert "this instance uses a PostgreSQL of your own" in own.stderr
    assert not (old / "upgrading").exists()
