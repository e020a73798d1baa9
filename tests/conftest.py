"""Real servers for everybody: one embedded PostgreSQL and one Valkey a session, one database a test.

They are started by the code that ``headgate up`` uses, from the same binaries and with the same settings, but for
two: nothing is flushed to the disk, since only a machine that loses its power would show the difference (a killed
server does not), and a password is hashed once, not 4,096 times, for each of the many connections.
"""

import asyncio
import gc
import itertools
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres, valkey
from headgate.runtime.account import child_setup, server_account
from headgate.runtime.database_roles import prepare_database
from headgate.runtime.folders import open_data_directory, private_folder, socket_folder
from headgate.runtime.secrets_file import ROLES, InstanceSecrets
from headgate.runtime.server_process import Program
from tests.memory_folder import memory_folder

_TEMPLATE = "migrated"
_SETTINGS = ("fsync=off", "full_page_writes=off", "scram_iterations=1")
_SERVERS_BYTES = 4 << 30
"""Room for the files of several such servers, one for each process of pytest-xdist."""

# How long an example takes is the machine's affair. All else is as before, also where CI has a profile of its own.
settings.register_profile("any_speed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_speed")


@pytest.fixture(scope="session", autouse=True)
def own_state() -> Iterator[None]:
    """Instances of tests do not become the one that this user's commands find."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """What is collected lives as long as the session: the collector of garbage need not look at it, neither while it is
    made nor each time that a test leaves something to collect."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run whose tests could not be collected, or were others in each process, has run nothing: ``make tests`` must
    not take it for one with failed tests, and be content when those of an earlier run pass."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    errors = [] if reporter is None else reporter.stats.get("error", [])
    if exitstatus == pytest.ExitCode.TESTS_FAILED and any(isinstance(one, pytest.CollectReport) for one in errors):
        session.exitstatus = pytest.ExitCode.INTERRUPTED


@pytest.fixture(scope="module", autouse=True)
def leaks_are_reported_where_they_are() -> Iterator[None]:
    """A socket or a transport that nobody closed is reported when it is collected: at the end of the file that left it,
    not in whichever test happens to run then. What outlives the file is what it imported, and need not be looked at
    after each of the files that follow."""
    yield
    gc.collect()
    gc.freeze()


@dataclass(frozen=True)
class DatabaseUrls:
    """One migrated database, by who logs in. ``administrator`` is the superuser, for looking behind the rules."""

    name: str
    administrator: str
    owner: str
    api: str
    proxy: str
    worker: str
    auditor: str


@dataclass
class PostgresForTests:
    """A running server. ``create_database`` makes a migrated one in some milliseconds, from a template."""

    server: postgres.PostgresServer
    secrets: InstanceSecrets
    process: "subprocess.Popen[bytes]"
    _names: "itertools.count[int]" = field(default_factory=itertools.count)

    def url(self, role: str, database: str) -> str:
        return self.server.url(role, self.secrets.passwords[role], database).reveal()

    @property
    def administrator_url(self) -> str:
        return self.url("postgres", "postgres")

    def create_database(self) -> DatabaseUrls:
        name = f"test_{next(self._names)}"
        with psycopg.connect(self.administrator_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER headgate_owner")
        parts = (self.url(f"headgate_{part}", name) for part in ("owner", "api", "proxy", "worker", "auditor"))
        return DatabaseUrls(name, self.url("postgres", name), *parts)

    def drop_database(self, name: str) -> None:
        with psycopg.connect(self.administrator_url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """In memory where there is room: a database is a thousand files, and most test files make one of their own."""
    with memory_folder(_SERVERS_BYTES) as folder:
        yield tmp_path_factory.mktemp("postgres") if folder is None else folder


@pytest.fixture(scope="session")
def postgres_server(postgres_folder: Path) -> Iterator[PostgresForTests]:
    data = DataDirectory(postgres_folder)
    open_data_directory(data)
    account = server_account([postgres.binaries() / "postgres", data.postgres])
    server = postgres.PostgresServer(data.postgres, socket_folder(data, account), data.logs / "postgres.log", account)
    secrets = InstanceSecrets({role: Secret(f"test-{role}") for role in ROLES})
    asyncio.run(postgres.initialize(server, secrets.passwords["postgres"]))
    program = server.program()
    process = _spawn(replace(program, command=(*program.command, *(f"--{one}" for one in _SETTINGS))))
    started = PostgresForTests(server, secrets, process)
    try:
        _wait_for_postgres(started)
        asyncio.run(prepare_database(server, secrets, _TEMPLATE))
        yield started
    finally:
        process.send_signal(program.stop_signal)
        process.wait(30)


@pytest.fixture
def database_urls(postgres_server: PostgresForTests) -> Iterator[DatabaseUrls]:
    """A migrated database of this test's own."""
    urls = postgres_server.create_database()
    yield urls
    postgres_server.drop_database(urls.name)


@pytest.fixture
def database_url(database_urls: DatabaseUrls) -> str:
    """The owner's address of this test's database."""
    return database_urls.owner


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = DataDirectory(tmp_path_factory.mktemp("valkey"))
    open_data_directory(data)
    account = server_account([valkey.binary(), data.valkey])
    folder = private_folder(data.valkey, account)
    server = valkey.ValkeyServer(folder, socket_folder(data, account), data.logs / "valkey.log", account)
    process = _spawn(server.program())
    try:
        _wait_for(server.socket.exists, process, data.logs / "valkey.log")
        yield server.url.reveal()
    finally:
        process.terminate()
        process.wait(10)


def _spawn(program: Program) -> "subprocess.Popen[bytes]":
    assert program.log is not None
    with program.log.open("ab") as log:
        return subprocess.Popen(
            program.command,
            env=dict(program.environment),
            cwd="/",
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=child_setup(program.death_signal, program.account),  # noqa: PLW1509 - as server_process does
        )


def _wait_for_postgres(started: PostgresForTests) -> None:
    def answers() -> bool:
        try:
            psycopg.connect(started.administrator_url).close()
        except psycopg.OperationalError:
            return False
        return True

    _wait_for(answers, started.process, started.server.log)


def _wait_for(condition, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)
