"""Endpoints at receivers of this test, with the worker's parts beside them; time is the test's own where it says so."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.audit.change import Change
from headgate.audit.model import Actor, ActorType
from headgate.db.database import Database
from headgate.deliveries.deliver import Deliver
from headgate.deliveries.model import Attempt, Delivery, TargetKind
from headgate.deliveries.store import DeliveryFilter, attempts_of, list_deliveries
from headgate.deliveries.turns import Turns
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.organizations.model import SettingName
from headgate.organizations.store import put_setting
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.trust import trusted_roots
from headgate.queue.model import JobReference
from headgate.relay.model import Consumer
from headgate.relay.relay_events import Follower, relay_due
from headgate.vault.service import Vault
from headgate.webhooks.deliver import WebhookTarget
from headgate.webhooks.model import DEFAULT_EVENTS, Endpoint, WebhookEvent
from headgate.webhooks.relay import WEBHOOK_TYPES, relay_webhooks
from headgate.webhooks.service import EndpointDraft, create_endpoint
from tests.integration.movable_clock import MovableClock
from tests.integration.outgoing.receivers import NameServer, Receivers, receivers

ADMINISTRATOR = Actor(ActorType.USER, "usr_1", "ada@example.com")


@dataclass
class Told:
    """One organization with an allowlist for loopback, and what the worker does for it, step by step."""

    org_id: str
    api: Database
    worker: Database
    vault: Vault
    clock: MovableClock

    def change(self) -> Change:
        return Change(self.org_id, ADMINISTRATOR, "usr_1", self.clock())

    async def endpoint(self, port: int, events: tuple[WebhookEvent, ...] = DEFAULT_EVENTS) -> tuple[Endpoint, Secret]:
        async with begin_change(self.api, self.change()) as change:
            return await create_endpoint(
                change,
                EndpointDraft(f"http://receiver.example:{port}/hook", None, events),
                self.vault,
            )

    async def relay(self) -> int:
        follower = Follower(
            WEBHOOK_TYPES,
            lambda connection, org_id, events: relay_webhooks(connection, org_id, events, self.clock),
        )
        return await relay_due(self.worker, {Consumer.WEBHOOKS: follower})

    def deliver(self, turns: Turns | None = None) -> Deliver:
        client = OutgoingClient(trusted_roots(None), NameServer([["127.0.0.1"]]))
        target = WebhookTarget(client, self.vault, self.clock)
        return Deliver(
            self.worker, self.clock, TargetKind.WEBHOOK, target.prepare, target.conclude, chance=lambda: 0.5,
            turns=turns or Turns(8),
        )  # fmt: skip

    async def run(self, delivery_id: str) -> None:
        await self.deliver().run(JobReference(self.org_id, delivery_id, 1))

    async def deliveries(self) -> list[Delivery]:
        """The oldest first."""
        async with self.api.transaction(self.org_id) as connection:
            page = await list_deliveries(
                connection, self.org_id, DeliveryFilter(TargetKind.WEBHOOK), limit=200, offset=0
            )
        return list(reversed(page.deliveries))

    async def attempts(self, delivery_id: str) -> list[Attempt]:
        async with self.api.transaction(self.org_id) as connection:
            return (await attempts_of(connection, self.org_id, [delivery_id])).get(delivery_id, [])


@pytest.fixture
async def world() -> AsyncIterator[Receivers]:
    async with receivers() as made:
        yield made


@pytest.fixture
def master_keys(tmp_path: Path) -> Path:
    return tmp_path / "master-keys.json"


@pytest.fixture
async def told(organization, api_database: Database, worker_database: Database, master_keys: Path) -> Told:
    allowlist = '{"destinations":[{"host":"receiver.example","private":true}]}'
    async with api_database.transaction(organization.org_id) as connection:
        await put_setting(connection, organization.org_id, SettingName.ALLOWLIST, allowlist, None)
    return Told(organization.org_id, api_database, worker_database, Vault(master_keys), MovableClock())
