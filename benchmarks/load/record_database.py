"""A PostgreSQL of a benchmark's own, with one organization and as many recorded events as it wants."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres
from headgate.runtime.account import child_setup, server_account
from headgate.runtime.database_roles import prepare_database
from headgate.runtime.folders import open_data_directory, socket_folder
from headgate.runtime.secrets_file import ROLES, InstanceSecrets

_DATABASE: Final = "headgate"
_PAYLOAD: Final = (
    '{"actor":{"id":"headgate","type":"system"},"data":{"decision":"allow","evaluation_time_ms":0.214,"generation":7,'
    '"policies":[{"decision":"allow","id":"pol_019a0000-0000-7000-8000-000000000000","version":3}],'
    '"policy_id":"pol_019a0000-0000-7000-8000-000000000000","reason":"reading is allowed","risk_level":"low","n":%s}}'
)

# OFFSET 0 keeps an action's identifier one for all of its events.
_APPEND: Final = """
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT %(org)s, 'decision.made', action.id, %(agent)s, clock_timestamp(), replace(%(payload)s, '%%s', n::text)
    FROM generate_series(%(first)s::integer, %(last)s::integer, 4) AS k,
         LATERAL (SELECT 'act_' || uuidv7() || left('', k) AS id OFFSET 0) action,
         LATERAL generate_series(k, least(k + 3, %(last)s::integer)) AS n
"""


@dataclass(frozen=True)
class RecordDatabase:
    """``org_id`` has a row, and whatever ``append`` put into its journal."""

    server: postgres.PostgresServer
    secrets: InstanceSecrets
    org_id: str

    def dsn(self, role: str) -> str:
        return self.server.url(role, self.secrets.passwords[role], _DATABASE).reveal()

    def append(self, events: int) -> None:
        """Into the journal, four events an action, with identifiers as a gate makes them: they sort by time."""
        agent_id = new_id(IdPrefix.AGENT)
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            for first in range(0, events, 100_000):
                last = min(first + 100_000, events) - 1
                connection.execute(
                    _APPEND,
                    {"org": self.org_id, "agent": agent_id, "payload": _PAYLOAD, "first": first, "last": last},
                )


@contextmanager
def record_database(folder: Path) -> Iterator[RecordDatabase]:
    data = DataDirectory(folder)
    open_data_directory(data)
    account = server_account([postgres.binaries() / "postgres", data.postgres])
    server = postgres.PostgresServer(data.postgres, socket_folder(data, account), data.logs / "postgres.log", account)
    secrets = InstanceSecrets({role: Secret(f"benchmark-{role}") for role in ROLES})
    asyncio.run(postgres.initialize(server, secrets.passwords["postgres"]))
    program = server.program()
    with data.logs.joinpath("postgres.log").open("ab") as log:
        process = subprocess.Popen(
            program.command, env=dict(program.environment), cwd="/", stdout=log, stderr=log, start_new_session=True,
            preexec_fn=child_setup(program.death_signal, program.account),  # noqa: PLW1509 - as server_process does
        )  # fmt: skip
    try:
        _wait(server, secrets)
        asyncio.run(prepare_database(server, secrets, _DATABASE))
        made = RecordDatabase(server, secrets, new_id(IdPrefix.ORGANIZATION))
        with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
            connection.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Benchmark')", [made.org_id])
        yield made
    finally:
        process.send_signal(program.stop_signal)
        process.wait(60)


def _wait(server: postgres.PostgresServer, secrets: InstanceSecrets) -> None:
    for _ in range(600):
        try:
            psycopg.connect(server.url("postgres", secrets.passwords["postgres"], "postgres").reveal()).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("PostgreSQL did not start")
