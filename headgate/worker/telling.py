"""Telling others: what the worker needs for it, the loop that follows the record, and the jobs that deliver."""

import asyncio
from typing import Final

from headgate.db.database import Database
from headgate.deliveries.deliver import Deliver
from headgate.deliveries.model import TargetKind
from headgate.deliveries.turns import Turns
from headgate.integrations.deliver import IntegrationTarget
from headgate.integrations.relay import INTEGRATION_TYPES, relay_integrations
from headgate.integrations.service import INTEGRATE
from headgate.kernel.clock import Clock
from headgate.kernel.program import PROGRAM_VERSION
from headgate.notifications.apprise_pool import ApprisePool
from headgate.notifications.deliver import ChannelTarget, SendDigest
from headgate.notifications.relay import NOTIFICATION_TYPES, relay_notifications
from headgate.notifications.service import DIGEST, NOTIFY
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.queue.model import Work
from headgate.relay.model import Consumer
from headgate.relay.relay_events import Follower, relay_due
from headgate.siem.senders import Senders
from headgate.siem.stream import StreamEvents
from headgate.vault.service import vault_of
from headgate.webhooks.deliver import WebhookTarget
from headgate.webhooks.relay import WEBHOOK_TYPES, relay_webhooks
from headgate.webhooks.service import DELIVER_WEBHOOK
from headgate.worker.loop import WATCHED_SECONDS, Loop
from headgate.worker.settings import WorkerSettings

PLACES: Final = {DELIVER_WEBHOOK.queue: 32, NOTIFY.queue: 12, INTEGRATE.queue: 12}
"""Receivers are slow; who waits for one costs a place and little else."""


_MOST_OF_A_CHANNEL: Final = 4


class Telling:
    """``close`` ends what it started. Raises ValidationError where the operator's roots cannot be read."""

    def __init__(self, database: Database, settings: WorkerSettings, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._public_api_url = settings.public_api_url
        self._vault = vault_of(settings)
        self._resolver = SystemResolver()
        trust = trusted_roots(settings.upstream_ca_file)
        self._client = OutgoingClient(trust, self._resolver, settings.upstream_proxy)
        self._apprise = ApprisePool(settings.upstream_ca_file)
        self._streams = StreamEvents(
            database,
            Senders(self._client, trust, self._resolver, settings.siem_folder),
            self._vault,
            clock,
            PROGRAM_VERSION,
        )
        self._followers = {
            Consumer.WEBHOOKS: Follower(
                WEBHOOK_TYPES, lambda connection, org_id, events: relay_webhooks(connection, org_id, events, clock)
            ),
            Consumer.NOTIFICATIONS: Follower(
                NOTIFICATION_TYPES,
                lambda connection, org_id, events: relay_notifications(connection, org_id, events, clock),
            ),
            Consumer.INTEGRATIONS: Follower(
                INTEGRATION_TYPES,
                lambda connection, org_id, events: relay_integrations(connection, org_id, events, clock),
            ),
        }

    def loops(self) -> list[Loop]:
        """Those who are told what happens, and security teams' collections."""

        async def relay() -> int:
            return await relay_due(self._database, self._followers)

        return [
            Loop("relay", relay, busy_seconds=0.02, idle_seconds=WATCHED_SECONDS, wake=asyncio.Event()),
            Loop("stream", self._streams.run, busy_seconds=0.05, idle_seconds=WATCHED_SECONDS, wake=asyncio.Event()),
        ]

    def works(self) -> list[Work]:
        webhook = WebhookTarget(self._client, self._vault, self._clock)
        webhooks = Deliver(self._database, self._clock, TargetKind.WEBHOOK, webhook.prepare, webhook.conclude)
        channel = ChannelTarget(self._client, self._apprise, self._vault, self._clock, self._public_api_url)
        channels = Deliver(
            self._database, self._clock, TargetKind.CHANNEL, channel.prepare, channel.conclude,
            turns=Turns(_MOST_OF_A_CHANNEL),
        )  # fmt: skip
        target = IntegrationTarget(self._client, self._vault, self._clock, self._public_api_url)
        integrations = Deliver(
            self._database, self._clock, TargetKind.INTEGRATION, target.prepare, target.conclude,
            turns=Turns(_MOST_OF_A_CHANNEL),
        )  # fmt: skip
        return [
            Work(INTEGRATE, integrations.run, integrations.park),
            Work(DELIVER_WEBHOOK, webhooks.run, webhooks.park),
            Work(NOTIFY, channels.run, channels.park),
            Work(DIGEST, SendDigest(self._database, self._clock).run),
        ]

    async def close(self) -> None:
        self._resolver.close()
        await self._apprise.close()
