"""A migrated database for each file with one login for each part, and a fresh organization for each test.

In one database of all files whole workers found the organizations that hundreds of tests had left, and each of them
took the ten seconds that it may take to stop: alone it stops in 0.4 s. Making a database takes 0.25 s.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from headgate.actions.recorded_entry import ActionRow
from headgate.actions.recording_store import RecordingOutcome
from headgate.approvals.attention import Attention
from headgate.approvals.gate_store import HoldRow, hold_action
from headgate.approvals.store import assigned_names
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Connection, Database
from headgate.gate.record_batch import Recorder
from headgate.journal.apply import apply_due
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.policies.model import Requirement
from tests.entry_codes import CODES


@dataclass(frozen=True)
class Cluster:
    """One migrated database for the tests of a file; each has an organization of its own in it."""

    server: Any
    name: str

    def dsn(self, role: str) -> str:
        return self.server.url(role, self.name)


@pytest.fixture(scope="module")
def cluster(postgres_server: Any) -> Iterator[Cluster]:
    urls = postgres_server.create_database()
    yield Cluster(postgres_server, urls.name)
    postgres_server.drop_database(urls.name)


type Superuser = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module")
def superusers() -> Iterator[dict[str, Superuser]]:
    """Connections that tests of this file have done with, by database: a new one costs more than most do with it."""
    kept: dict[str, Superuser] = {}
    yield kept
    for connection in kept.values():
        connection.close()


@pytest.fixture
def superuser(cluster: Cluster, superusers: dict[str, Superuser]) -> Iterator[Superuser]:
    """As if it were this test's own: whatever a test sets or leaves open ends with it."""
    connection = superusers.pop(cluster.name, None)
    if connection is None:
        # What is prepared would not survive DISCARD, which psycopg does not see.
        connection = psycopg.connect(cluster.dsn("postgres"), autocommit=True, prepare_threshold=None)
    yield connection
    try:
        connection.rollback()
        connection.execute("DISCARD ALL")
    except psycopg.OperationalError:  # the test ended it, or its server
        connection.close()
    else:
        superusers[cluster.name] = connection


class _ConnectedOnUse(Database):
    """Most tests that have one at hand do not use it."""

    _waits_for_use = True

    async def open(self) -> None:
        """Until its first transaction nothing needs doing."""

    async def close(self) -> None:
        self._waits_for_use = False
        await super().close()

    @asynccontextmanager
    async def _pooled(self, party: str) -> AsyncIterator[Connection]:
        if self._waits_for_use:
            self._waits_for_use = False
            await super().open()
        async with super()._pooled(party) as connection:
            yield connection


async def _opened(cluster: Cluster, role: str) -> AsyncIterator[Database]:
    database = _ConnectedOnUse(Secret(cluster.dsn(role)), entry_codes=CODES)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def api_database(cluster: Cluster) -> AsyncIterator[Database]:
    async for database in _opened(cluster, "headgate_api"):
        yield database


@pytest.fixture
async def worker_database(cluster: Cluster) -> AsyncIterator[Database]:
    async for database in _opened(cluster, "headgate_worker"):
        yield database


@pytest.fixture
def applied(worker_database: Database) -> Callable[[], Awaitable[None]]:
    """Applies the journal of all organizations, as the worker does."""

    async def apply() -> None:
        while await apply_due(worker_database):
            pass

    return apply


@pytest.fixture
async def proxy_database(cluster: Cluster) -> AsyncIterator[Database]:
    async for database in _opened(cluster, "headgate_proxy"):
        yield database


@dataclass(frozen=True)
class Organization:
    org_id: str
    agent_id: str


@pytest.fixture
def new_organization(superuser: psycopg.Connection[tuple[object, ...]]) -> Callable[[], Organization]:
    def create() -> Organization:
        made = Organization(new_id(IdPrefix.ORGANIZATION), new_id(IdPrefix.AGENT))
        superuser.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Test')", [made.org_id])
        superuser.execute("INSERT INTO org_state (org_id) VALUES (%s)", [made.org_id])
        superuser.execute(
            "INSERT INTO agents (org_id, agent_id, name) VALUES (%s, %s, 'Robot')", [made.org_id, made.agent_id]
        )
        superuser.execute(  # what tests call is on this machine
            "INSERT INTO settings (org_id, name, document) VALUES (%s, 'private_destinations', %s)",
            [made.org_id, '{"destinations": [{"host": "0.0.0.0/0"}, {"host": "::/0"}]}'],
        )
        return made

    return create


@pytest.fixture
def organization(new_organization: Callable[[], Organization]) -> Organization:
    return new_organization()


def _decision(decision: str, risk_level: str) -> JsonObject:
    return {
        "decision": decision,
        "reason": "a person must look",
        "risk_level": risk_level,
        "policy_id": "pol_1",
        "evaluation_time_ms": 0.2,
        "policies": [],
    }


@dataclass(frozen=True)
class Held:
    action_id: str
    approval_id: str
    digest: bytes


type Hold = Callable[..., Awaitable[Held]]


@pytest.fixture
def hold(api_database: Database) -> Hold:
    """Records an action that waits for approval, as the API and the proxy do."""

    async def record(
        organization: Organization,
        *,
        requirements: tuple[Requirement, ...] = (Requirement("pol_1", 1, 1),),
        expires_in: timedelta = timedelta(hours=1),
        source: str = "api",
        digest: bytes | None = None,
        risk_level: str = "high",
        tool: str = "mail",
        escalate_after: timedelta | None = None,
        remind_after: timedelta | None = None,
        generation: int = 1,
        database: Database | None = None,
        previous_approval_id: str | None = None,
    ) -> Held:
        now = datetime.now(UTC)
        held = Held(new_id(IdPrefix.ACTION), new_id(IdPrefix.APPROVAL), digest or os.urandom(32))
        required = max(one.required_approvals for one in requirements)
        decision = _decision("require_approval", risk_level)
        row = HoldRow(
            organization.org_id, generation, held.action_id, organization.agent_id, None, source, tool, "send",
            held.digest,
            '{"params":{"to":"x@example.com"}}', canonical_bytes(decision).decode(), risk_level, None, now, None, None,
            payload_text(SYSTEM, {}), payload_text(SYSTEM, {}), payload_text(SYSTEM, {}), held.approval_id,
            canonical_bytes([one.record() for one in requirements]).decode(), required, "a person must look", "pol_1",
            now + expires_in, previous_approval_id,
            None if previous_approval_id is None else payload_text(SYSTEM, {"approval_id": previous_approval_id}),
        )  # fmt: skip
        attention = Attention(
            names=tuple(assigned_names(requirements)),
            escalate_at=None if escalate_after is None else now + escalate_after,
            remind_after_seconds=None if remind_after is None else max(int(remind_after.total_seconds()), 1),
            remind_at=None if remind_after is None else now + remind_after,
        )
        async with (database or api_database).transaction(organization.org_id) as connection:
            outcome = await hold_action(connection, row, most_open=None, attention=attention)
        assert outcome is RecordingOutcome.RECORDED
        return held

    return record


@dataclass(frozen=True)
class Running:
    action_id: str
    execution_id: str


type Execute = Callable[..., Awaitable[Running]]


@pytest.fixture
def execute(cluster: Cluster) -> Execute:
    """Records an allowed action whose execution runs in the named instance, as the proxy does."""

    async def record(
        organization: Organization, instance_id: str, *, started_at: datetime | None = None, generation: int = 1
    ) -> Running:
        running = Running(new_id(IdPrefix.ACTION), new_id(IdPrefix.EXECUTION))
        decision = canonical_bytes(_decision("allow", "low"))
        payload = payload_text(SYSTEM, {})
        row = ActionRow(
            organization.org_id, generation, running.action_id, organization.agent_id, None, "proxy", "mail", "send",
            "executing",
            os.urandom(32), b'{"params":{}}', decision, "low", None, started_at or datetime.now(UTC),
            running.execution_id, instance_id, None, None, payload, payload, payload,
        )  # fmt: skip
        recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
        await recorder.open()
        assert await recorder.submit_action(row) is RecordingOutcome.RECORDED
        await recorder.close()
        return running

    return record
