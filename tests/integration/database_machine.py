"""State machines over the real database: one event loop and one pool for all examples."""

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar

import psycopg
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from headgate.db.database import Database
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES
from tests.integration.conftest import Cluster


class DatabaseMachine(RuleBasedStateMachine):
    """Each example has an organization of its own. ``server``: the superuser's connection."""

    loop: ClassVar[asyncio.AbstractEventLoop]
    api: ClassVar[Database]
    worker: ClassVar[Database]
    server: ClassVar[psycopg.Connection[tuple[Any, ...]]]

    def run[Answer](self, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
        return self.loop.run_until_complete(coroutine)

    def told_of(self, action_id: str) -> list[str]:
        """The types of all events of an action, sealed or not."""
        found = self.server.execute(
            "SELECT event_type FROM journal WHERE action_id = %s UNION ALL"
            " SELECT event_type FROM audit_events WHERE action_id = %s",
            [action_id, action_id],
        ).fetchall()
        return [str(kind) for (kind,) in found]


def run_machine(machine: type[DatabaseMachine], cluster: Cluster) -> None:
    loop = asyncio.new_event_loop()
    api, worker = (Database(Secret(cluster.dsn(f"headgate_{part}")), entry_codes=CODES) for part in ("api", "worker"))
    for database in (api, worker):
        loop.run_until_complete(database.open())
    machine.loop, machine.api, machine.worker = loop, api, worker
    try:
        with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as machine.server:
            run_state_machine_as_test(
                machine,
                settings=settings(
                    max_examples=25,
                    stateful_step_count=40,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
    finally:
        for database in (api, worker):
            loop.run_until_complete(database.close())
        loop.close()
