"""PostgreSQL and Valkey as an operator runs them: started outside of headgate, reached over TCP with a password."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from psycopg import sql
from redis import Redis
from redis.exceptions import RedisError

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres, valkey
from headgate.runtime.account import child_setup, server_account
from headgate.runtime.folders import open_data_directory, private_folder, socket_folder
from headgate.runtime.server_process import Program
from tests.e2e.waiting import wait_for
from tests.free_port import free_port

_PASSWORD = "external-administrator"
_OWNER_PASSWORD = "external-owner"
_VALKEY_PASSWORD = "external-valkey"
PARTS = ("api", "proxy", "worker")


@dataclass(frozen=True)
class ExternalServers:
    """``new_database`` makes an empty one, owned by a role that may make roles and is no superuser."""

    port: int
    redis_url: str

    def url(self, role: str, password: str, database: str) -> str:
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/{database}"

    @property
    def administrator_url(self) -> str:
        return self.url("postgres", _PASSWORD, "postgres")

    def administrator(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(self.administrator_url, autocommit=True)

    def new_database(self, name: str) -> str:
        """The owner's address."""
        with self.administrator() as connection:
            exists = connection.execute("SELECT FROM pg_roles WHERE rolname = 'headgate_owner'").fetchone()
            if exists is None:
                connection.execute(
                    sql.SQL("CREATE ROLE headgate_owner LOGIN CREATEROLE PASSWORD {}").format(_OWNER_PASSWORD)
                )
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER headgate_owner").format(sql.Identifier(name)))
        return self.url("headgate_owner", _OWNER_PASSWORD, name)

    def let_parts_in(self, database: str) -> dict[str, str]:
        """As ``headgate migrate --help`` says: a login for each part's role; their addresses."""
        urls = {}
        with self.administrator() as connection:
            for part in PARTS:
                role = f"headgate_{part}"
                statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), f"external-{part}")
                connection.execute(statement)
                urls[part] = self.url(role, f"external-{part}", database)
        return urls


@contextmanager
def external_servers(folder: Path) -> Iterator[ExternalServers]:
    with (
        serving_postgres(initialized_postgres(folder / "postgres")) as (port, _),
        external_valkey(folder / "valkey") as redis_url,
    ):
        yield ExternalServers(port, redis_url)


def initialized_postgres(folder: Path) -> postgres.PostgresServer:
    data = DataDirectory(folder)
    open_data_directory(data)
    account = server_account([postgres.binaries() / "postgres", data.postgres])
    server = postgres.PostgresServer(data.postgres, socket_folder(data, account), data.logs / "postgres.log", account)
    asyncio.run(postgres.initialize(server, Secret(_PASSWORD)))
    with (server.folder / "pg_hba.conf").open("a") as rules:
        rules.write("host all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256\n")
    return server


@contextmanager
def serving_postgres(
    server: postgres.PostgresServer, **settings: str
) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Over TCP; yields the port, and the process."""
    port = free_port()
    program = server.program()
    given = {"listen_addresses": "127.0.0.1", "port": str(port), **settings}
    options = tuple(part for name, value in given.items() for part in ("-c", f"{name}={value}"))
    with running(replace(program, command=program.command + options)) as process:

        def answers() -> bool:
            assert process.poll() is None, server.log.read_text()
            try:
                psycopg.connect(f"postgresql://postgres:{_PASSWORD}@127.0.0.1:{port}/postgres").close()
            except psycopg.OperationalError:
                return False
            return True

        wait_for(answers, "PostgreSQL answers")
        yield port, process


@contextmanager
def external_valkey(folder: Path) -> Iterator[str]:
    data = DataDirectory(folder)
    open_data_directory(data)
    account = server_account([valkey.binary(), data.valkey])
    where = private_folder(data.valkey, account)
    server = valkey.ValkeyServer(where, socket_folder(data, account), data.logs / "valkey.log", account)
    port = free_port()
    program = server.program()
    over_tcp = ("--bind", "127.0.0.1", "--port", str(port), "--requirepass", _VALKEY_PASSWORD)
    with running(replace(program, command=program.command + over_tcp)) as process:
        url = f"redis://:{_VALKEY_PASSWORD}@127.0.0.1:{port}/0"

        def answers() -> bool:
            assert process.poll() is None, server.log.read_text()
            try:
                with closing(Redis.from_url(url)) as client:
                    return bool(client.ping())
            except (RedisError, OSError):
                return False

        wait_for(answers, "Valkey answers")
        yield url


@contextmanager
def running(program: Program) -> Iterator["subprocess.Popen[bytes]"]:
    assert program.log is not None
    with program.log.open("ab") as log:
        process = subprocess.Popen(
            program.command,
            env=dict(program.environment),
            cwd="/",
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=child_setup(program.death_signal, program.account),  # noqa: PLW1509 - as server_process does
        )
    try:
        yield process
    finally:
        process.send_signal(program.stop_signal)
        process.wait(60)
