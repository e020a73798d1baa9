"""A signed message to a webhook endpoint, and what its answer means (Standard Webhooks, "Delivery").

Any 2xx is success; 410 says that nobody wants more, 429 and 503 may say when to come back; a redirect is a failure.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection
from headgate.deliveries.deliver import Send
from headgate.deliveries.excerpt import excerpt_of
from headgate.deliveries.model import Delivery, DeliveryStatus, SendResult, TargetKind
from headgate.deliveries.store import cancel_pending
from headgate.kernel.clock import Clock
from headgate.kernel.errors import NotFoundError
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.organizations.stored_rules import destination_rules
from headgate.outgoing.clear_text import rules_for
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingLimits, OutgoingRequest, OutgoingResponse
from headgate.outgoing.retry_after import retry_after_seconds
from headgate.vault.service import Vault
from headgate.webhooks.model import Endpoint, should_disable, vault_name
from headgate.webhooks.signing import headers
from headgate.webhooks.store import get_endpoint, note_outcome, save_endpoint

_LIMITS: Final = OutgoingLimits(connect_seconds=5.0, deadline_seconds=15.0, response_max_bytes=8192)
_GONE: Final = 410


class WebhookTarget(Struct, frozen=True):
    """The target's part of ``workflows.deliver``."""

    client: OutgoingClient
    vault: Vault
    clock: Clock

    async def prepare(self, connection: Connection, delivery: Delivery) -> Send | None:
        """None where the endpoint was deleted or disabled meanwhile. Raises UnavailableError."""
        try:
            endpoint = await get_endpoint(connection, delivery.org_id, delivery.target_id)
        except NotFoundError:
            return None
        if not endpoint.enabled and delivery.event_id is not None:
            return None
        names = [vault_name(endpoint.endpoint_id, number) for number in endpoint.secret_numbers(self.clock())]
        opened = await self.vault.open(connection, delivery.org_id, names)
        secrets = [opened[name] for name in names if name in opened]
        rules = rules_for(endpoint.url, await destination_rules(connection, delivery.org_id))

        async def send() -> SendResult:
            return await self._send(endpoint, delivery, secrets, rules)

        return send

    async def conclude(
        self, connection: Connection, delivery: Delivery, result: SendResult, status: DeliveryStatus | None
    ) -> None:
        """An endpoint that says that it is gone, or at which everything fails for days, is disabled."""
        now = self.clock()
        await note_outcome(connection, delivery.org_id, delivery.target_id, None if result.succeeded else now)
        if result.succeeded:
            return
        try:
            endpoint = await get_endpoint(connection, delivery.org_id, delivery.target_id, lock=True)
        except NotFoundError:
            return
        reason = None
        if result.status_code == _GONE:
            reason = "it answered 410 Gone"
        elif should_disable(endpoint.failing_since, now):
            reason = f"every attempt since {endpoint.failing_since:%Y-%m-%d %H:%M} UTC has failed"
        if reason is None or not endpoint.enabled:
            return
        await save_endpoint(connection, replace(endpoint, enabled=False, disabled_reason=reason, updated_at=now))
        await cancel_pending(
            connection, delivery.org_id, TargetKind.WEBHOOK, endpoint.endpoint_id, now, but=delivery.delivery_id
        )
        disabled = Event(
            EventType.WEBHOOK_DISABLED,
            now,
            SYSTEM,
            {
                "endpoint_id": endpoint.endpoint_id,
                "url": endpoint.url,
                "reason": reason,
                "owner": endpoint.created_by,
            },
        )
        await append(connection, delivery.org_id, [disabled])

    async def _send(
        self, endpoint: Endpoint, delivery: Delivery, secrets: list[Secret], rules: DestinationRules
    ) -> SendResult:
        if not secrets:
            return SendResult(False, failure="no_secret", message="the endpoint's secret is not in the vault")
        body = delivery.payload.encode()
        request = OutgoingRequest(
            "POST",
            endpoint.url,
            (
                ("content-type", "application/json"),
                *headers(secrets, delivery.delivery_id, self.clock(), body),
            ),
            body,
        )
        try:
            response = await self.client.send(request, rules, _LIMITS)
        except OutgoingError as error:
            return SendResult(False, status_code=error.status, failure=error.failure.value, message=error.message)
        return _judge(response)


def _judge(response: OutgoingResponse) -> SendResult:
    succeeded = 200 <= response.status < 300
    return SendResult(
        succeeded=succeeded,
        status_code=response.status,
        failure=None if succeeded else "status",
        message=None if succeeded else f"the receiver answered {response.status}",
        excerpt=excerpt_of(response.body),
        latency_ms=response.latency_ms,
        retry_after_seconds=None if succeeded else retry_after_seconds(response),
        is_final=response.status == _GONE,
    )
