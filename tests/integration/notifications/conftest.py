"""Channels of one organization, and what the worker does for them, step by step; time is the test's own."""

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
from headgate.kernel.canonical_json import JsonObject
from headgate.notifications.apprise_pool import ApprisePool
from headgate.notifications.deliver import ChannelTarget, SendDigest
from headgate.notifications.relay import NOTIFICATION_TYPES, relay_notifications
from headgate.notifications.service import put_notifications
from headgate.organizations.change import begin_change
from headgate.organizations.model import SettingName
from headgate.organizations.store import put_setting
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.trust import trusted_roots
from headgate.queue.model import JobReference
from headgate.relay.model import Consumer
from headgate.relay.relay_events import Follower, relay_due
from headgate.vault.service import Vault
from tests.integration.movable_clock import MovableClock
from tests.integration.outgoing.receivers import NameServer, Receivers, receivers

ADMINISTRATOR = Actor(ActorType.USER, "usr_1", "ada@example.com")
API_URL = "https://gate.example.com"


@dataclass
class People:
    """``run`` is one attempt of the worker at one message; ``digest`` its job at the end of a flood."""

    org_id: str
    api: Database
    worker: Database
    vault: Vault
    clock: MovableClock
    apprise: ApprisePool

    def change(self) -> Change:
        return Change(self.org_id, ADMINISTRATOR, "usr_1", self.clock())

    async def put(self, document: JsonObject) -> None:
        async with begin_change(self.api, self.change()) as change:
            await put_notifications(change, document, self.vault)

    async def relay(self) -> None:
        follower = Follower(
            NOTIFICATION_TYPES,
            lambda connection, org_id, events: relay_notifications(connection, org_id, events, self.clock),
        )
        await relay_due(self.worker, {Consumer.NOTIFICATIONS: follower})

    async def run(self, delivery_id: str) -> None:
        client = OutgoingClient(trusted_roots(None), NameServer([["127.0.0.1"]]))
        target = ChannelTarget(client, self.apprise, self.vault, self.clock, API_URL)
        deliver = Deliver(self.worker, self.clock, TargetKind.CHANNEL, target.prepare, target.conclude)
        await deliver.run(JobReference(self.org_id, delivery_id, 1))

    async def digest(self, channel: str) -> None:
        await SendDigest(self.worker, self.clock).run(JobReference(self.org_id, channel, 1))

    async def messages(self, **wanted: str) -> list[Delivery]:
        """In the order in which they were made."""
        async with self.api.transaction(self.org_id) as connection:
            page = await list_deliveries(
                connection, self.org_id, DeliveryFilter(TargetKind.CHANNEL, **wanted), limit=200, offset=0
            )
        return sorted(page.deliveries, key=lambda one: one.created_at)

    async def attempts(self, delivery_id: str) -> list[Attempt]:
        async with self.api.transaction(self.org_id) as connection:
            return (await attempts_of(connection, self.org_id, [delivery_id])).get(delivery_id, [])


@pytest.fixture
async def world() -> AsyncIterator[Receivers]:
    async with receivers() as made:
        yield made


@pytest.fixture
async def people(
    organization, api_database: Database, worker_database: Database, tmp_path: Path
) -> AsyncIterator[People]:
    allowlist = (
        '{"destinations":[{"host":"127.0.0.1","private":true},{"host":"localhost","private":true},'
        '{"host":"slack.example","private":true}]}'
    )
    async with api_database.transaction(organization.org_id) as connection:
        await put_setting(connection, organization.org_id, SettingName.ALLOWLIST, allowlist, None)
    apprise = ApprisePool(None, processes=1, send_seconds=8)
    vault = Vault(tmp_path / "master-keys.json")
    yield People(organization.org_id, api_database, worker_database, vault, MovableClock(), apprise)
    await apprise.close()
