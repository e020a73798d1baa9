"""The primary dies under load, and its synchronous standby is promoted: nothing passes unrecorded, nothing that was
acknowledged is lost, and calls go on by themselves.

``target_session_attrs=read-write`` (libpq, "Parameter Key Words") lets each part find the server that writes.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest
from msgspec import structs

from headgate.runtime import postgres
from headgate.runtime.folders import private_folder
from headgate.runtime.server_process import Program
from tests.e2e.clients import Administrator
from tests.e2e.conftest import LOOPBACK
from tests.e2e.external_servers import ExternalServers, external_valkey, initialized_postgres, running, serving_postgres
from tests.e2e.instance import Instance
from tests.e2e.instance import running as running_instance
from tests.e2e.load import Load
from tests.e2e.record import expect_whole_record, wait_until_nothing_runs
from tests.e2e.upstream import Upstream, serving
from tests.e2e.waiting import wait_for

_RESUME_SECONDS = 10
_STANDBY = "second"


@pytest.fixture
def upstream(certificates: tuple[Path, Path]) -> Iterator[Upstream]:
    """One that no other test has called: whatever it received must be on this record."""
    with serving(certificates[1]) as server:
        yield server


@dataclass(frozen=True)
class Pair:
    """A primary that commits when its standby has, and that standby."""

    primary: ExternalServers
    standby: ExternalServers
    primary_process: "subprocess.Popen[bytes]"

    def promote(self) -> None:
        with self.standby.administrator() as connection:
            assert connection.execute("SELECT pg_promote()").fetchone() == (True,)

    def url(self, database: str) -> str:
        """Both servers in one address, whichever of them writes, as the superuser: the test looks at all rows."""
        self.primary.new_database(database)
        one = f"127.0.0.1:{self.primary.port}"
        both = f"{one},127.0.0.1:{self.standby.port}"
        url = self.primary.administrator_url.removesuffix("postgres") + database
        return url.replace(one, both) + "?target_session_attrs=read-write"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        redis_url = stack.enter_context(external_valkey(tmp_path / "valkey"))
        first = initialized_postgres(tmp_path / "first")
        port, process = stack.enter_context(serving_postgres(first))
        primary = ExternalServers(port, redis_url)
        second = structs.replace(
            first, folder=first.folder.with_name("standby"), log=first.log.with_name("standby.log")
        )
        private_folder(second.folder, second.account)
        with running(_base_backup(primary, second)) as backup:
            assert backup.wait(60) == 0, second.log.read_text()
        standby_port, _ = stack.enter_context(serving_postgres(second))
        with primary.administrator() as connection:
            # After the copy: the standby, once it is the primary, has nobody to wait for.
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{_STANDBY}'")
            connection.execute("SELECT pg_reload_conf()")
            synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
            wait_for(lambda: connection.execute(synchronous).fetchone() == (1,), "commits wait for the standby")
        yield Pair(primary, ExternalServers(standby_port, redis_url), process)


def _base_backup(primary: ExternalServers, copy: postgres.PostgresServer) -> Program:
    conninfo = f"{primary.administrator_url}?application_name={_STANDBY}"
    command = (
        str(postgres.binaries() / "pg_basebackup"), "-D", str(copy.folder), "-d", conninfo, "-R", "-X", "stream",
        "-c", "fast",
    )  # fmt: skip
    return replace(copy.program(), name="pg_basebackup", command=command)


def test_a_standby_takes_over_under_load(pair: Pair, tmp_path: Path, certificates, upstream, path: str) -> None:
    settings = {
        "HEADGATE_DATABASE_URL": pair.url("gate"),
        "HEADGATE_REDIS_URL": pair.primary.redis_url,
        "HEADGATE_PROXY_WORKERS": "2",
    }
    with (
        running_instance(tmp_path, certificates[0], **settings) as instance,
        closing(Administrator(instance)) as administrator,
    ):
        administrator.allow_destinations(LOOPBACK)
        load = Load(instance, upstream, path)
        with load.running():
            load.wait_for_answers()
            pair.primary_process.kill()
            pair.primary_process.wait()
            pair.promote()
            promoted = time.monotonic()
            _wait_until_forwarded(load, promoted)
            assert time.monotonic() - promoted < _RESUME_SECONDS
            load.wait_for_answers()
        assert load.told.unexpected == []
        wait_until_nothing_runs(instance)
        expect_whole_record(instance, administrator, upstream, load.told)
        _expect_written_by(instance, pair.standby.port)


def _wait_until_forwarded(load: Load, since: float) -> None:
    wait_for(lambda: any(began > since for began, _ in load.told.forwarded), "a call is forwarded again", seconds=60)


def _expect_written_by(instance: Instance, port: int) -> None:
    with psycopg.connect(instance.runtime["database_url"]) as connection:
        assert connection.info.port == port
