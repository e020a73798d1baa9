"""An organization with an integration at a fake of its platform, and what the worker does for it, step by step."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from headgate.db.database import Database
from headgate.deliveries.deliver import Deliver
from headgate.deliveries.model import Attempt, Delivery, DeliveryStatus, TargetKind
from headgate.deliveries.store import DeliveryFilter, attempts_of, list_deliveries
from headgate.integrations.deliver import IntegrationTarget
from headgate.integrations.relay import INTEGRATION_TYPES, relay_integrations
from headgate.organizations.model import Role
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.trust import trusted_roots
from headgate.queue.model import JobReference, RetryLater
from headgate.relay.model import Consumer
from headgate.relay.relay_events import Follower, relay_due
from tests.integration.admin_api.links.test_routes import Asked, user_of
from tests.integration.movable_clock import MovableClock
from tests.integration.outgoing.receivers import NameServer, Receivers, receivers


@dataclass
class Board:
    """``relay`` and ``work`` are the worker's; ``send`` is the platform's way in."""

    gate: Any
    worker: Database
    clock: MovableClock
    path: str = ""
    name: str = ""

    async def set(self, name: str, document: dict[str, Any]) -> dict[str, Any]:
        answer = await self.gate.person().put(f"/admin/settings/{name}", json=document)
        assert answer.status_code == 200, answer.text
        shown: dict[str, Any] = answer.json()
        self.path, self.name = shown["webhook_path"], name
        return shown

    async def ask(self, **params: Any) -> Asked:
        body = {"tool": "write", "operation": "file", "params": params}
        submitted = await self.gate.as_agent.post("/v1/actions", json=body)
        assert submitted.status_code == 202, submitted.text
        return Asked(self.gate, submitted.json()["approval_id"])

    async def decide(self, asked: Asked, decision: str = "approve", **more: str) -> None:
        answer = await self.gate.person("decider").post(f"/v1/approvals/{asked.approval_id}/{decision}", json=more)
        assert answer.status_code == 200, answer.text

    async def send(self, body: bytes, headers: dict[str, str], path: str | None = None) -> httpx.Response:
        return await self.gate.client().post(path or self.path, content=body, headers=headers)

    async def relay(self) -> None:
        follower = Follower(
            INTEGRATION_TYPES,
            lambda connection, org_id, events: relay_integrations(connection, org_id, events, self.clock),
        )
        await relay_due(self.worker, {Consumer.INTEGRATIONS: follower})

    async def run(self, delivery_id: str) -> None:
        dependencies = self.gate.api.dependencies
        client = OutgoingClient(trusted_roots(None), NameServer([["127.0.0.1"]]))
        target = IntegrationTarget(client, dependencies.vault, self.clock, "https://gate.example.com")
        deliver = Deliver(self.worker, self.clock, TargetKind.INTEGRATION, target.prepare, target.conclude)
        await deliver.run(JobReference(self.gate.org_id, delivery_id, 1))

    async def work(self) -> list[Exception]:
        """One attempt at everything that waits, in order; what is to be tried again."""
        await self.relay()
        later: list[Exception] = []
        for one in await self.deliveries(DeliveryStatus.PENDING):
            try:
                await self.run(one.delivery_id)
            except RetryLater as error:
                later.append(error)
        return later

    async def deliveries(self, status: DeliveryStatus | None = None) -> list[Delivery]:
        """In the order in which they were made."""
        async with self.gate.api.dependencies.database.transaction(self.gate.org_id) as connection:
            wanted = DeliveryFilter(TargetKind.INTEGRATION, status=status)
            page = await list_deliveries(connection, self.gate.org_id, wanted, limit=200, offset=0)
        return sorted(page.deliveries, key=lambda one: one.created_at)

    async def attempts(self, delivery_id: str) -> list[Attempt]:
        async with self.gate.api.dependencies.database.transaction(self.gate.org_id) as connection:
            return (await attempts_of(connection, self.gate.org_id, [delivery_id]))[delivery_id]

    async def user(self, name: str, role: Role = Role.ADMIN) -> str:
        return str(await user_of(self.gate, name, role))

    async def receipts(self) -> list[dict[str, Any]]:
        answer = await self.gate.person().get(f"/admin/settings/{self.name}/receipts")
        found: list[dict[str, Any]] = answer.json()["data"]
        return found


@pytest.fixture
async def world() -> AsyncIterator[Receivers]:
    async with receivers() as made:
        yield made


@pytest.fixture
async def board(gate: Any, worker_database: Database) -> Board:
    allowed = {"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}
    assert (await gate.person().put("/admin/settings/allowlist", json=allowed)).status_code == 200
    return Board(gate, worker_database, MovableClock())
