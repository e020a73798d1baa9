"""What administrators do with endpoints. Each change is recorded; a transaction is the caller's."""

from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.change import Change
from headgate.audit.model import EventType
from headgate.deliveries.model import GIVE_UP_AFTER, Delivery, DeliveryStatus, TargetKind, fresh_delivery, require_move
from headgate.deliveries.store import cancel_pending, get_delivery, insert_delivery, reopen
from headgate.kernel.backoff import Backoff
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.organizations.change import OrganizationChange
from headgate.queue.model import Job
from headgate.queue.store import defer
from headgate.relay.model import Consumer
from headgate.relay.store import start_at_the_end, stop
from headgate.vault.service import Vault
from headgate.webhooks.model import MAX_ENDPOINTS, MAX_OVERLAP, Endpoint, WebhookEvent, check_url, vault_name
from headgate.webhooks.signing import new_secret
from headgate.webhooks.store import delete_endpoint, get_endpoint, insert_endpoint, list_endpoints, save_endpoint

# The handler plans and counts its attempts itself; to the queue, a wait for the receiver's turn is one too.
DELIVER_WEBHOOK = Job("webhook.deliver", queue="webhooks", backoff=Backoff(first_seconds=5, most_attempts=1_000_000))


class EndpointDraft(Struct, frozen=True):
    """What may be changed."""

    url: str
    description: str | None
    events: tuple[WebhookEvent, ...]
    enabled: bool = True


async def create_endpoint(change: OrganizationChange, draft: EndpointDraft, vault: Vault) -> tuple[Endpoint, Secret]:
    """With its secret at the one moment at which that is shown. Raises ValidationError, ConflictError."""
    if len(await list_endpoints(change.connection, change.org_id)) >= MAX_ENDPOINTS:
        raise ConflictError(f"there are {MAX_ENDPOINTS} webhook endpoints already")
    endpoint = Endpoint(
        org_id=change.org_id,
        endpoint_id=new_id(IdPrefix.WEBHOOK),
        url=check_url(draft.url),
        description=draft.description,
        events=draft.events,
        enabled=draft.enabled,
        disabled_reason=None,
        secret_number=1,
        previous_secret_until=None,
        failing_since=None,
        created_by=change.user_id,
        created_at=change.at,
        updated_at=change.at,
    )
    await insert_endpoint(change.connection, endpoint)
    secret = new_secret()
    await vault.keep(change.connection, change.org_id, vault_name(endpoint.endpoint_id, 1), secret)
    await start_at_the_end(change.connection, change.org_id, Consumer.WEBHOOKS)
    await _record(change, EventType.WEBHOOK_CREATED, endpoint)
    return endpoint, secret


async def update_endpoint(change: OrganizationChange, endpoint_id: str, draft: EndpointDraft) -> Endpoint:
    """Enabling one again forgets why it was disabled. Raises NotFoundError, ValidationError."""
    before = await get_endpoint(change.connection, change.org_id, endpoint_id, lock=True)
    revived = draft.enabled and not before.enabled
    endpoint = replace(
        before,
        url=check_url(draft.url),
        description=draft.description,
        events=draft.events,
        enabled=draft.enabled,
        disabled_reason=None if draft.enabled else before.disabled_reason,
        failing_since=None if revived else before.failing_since,
        updated_at=change.at,
    )
    await save_endpoint(change.connection, endpoint)
    await _record(change, EventType.WEBHOOK_UPDATED, endpoint)
    return endpoint


async def remove_endpoint(change: OrganizationChange, endpoint_id: str, vault: Vault) -> None:
    """What is pending for it is cancelled. Raises NotFoundError."""
    endpoint = await get_endpoint(change.connection, change.org_id, endpoint_id, lock=True)
    await delete_endpoint(change.connection, change.org_id, endpoint_id, change.at)
    await cancel_pending(change.connection, change.org_id, TargetKind.WEBHOOK, endpoint_id, change.at)
    for number in (endpoint.secret_number, endpoint.secret_number - 1):
        await vault.forget(change.connection, change.org_id, vault_name(endpoint_id, number))
    if not await list_endpoints(change.connection, change.org_id):
        await stop(change.connection, change.org_id, Consumer.WEBHOOKS)
    await _record(change, EventType.WEBHOOK_DELETED, endpoint)


async def rotate_secret(
    change: OrganizationChange, endpoint_id: str, overlap: timedelta, vault: Vault
) -> tuple[Endpoint, Secret]:
    """Both sign for the time of ``overlap``. Raises NotFoundError, ValidationError."""
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise ValidationError(
            f"overlap_seconds: from 0 to {int(MAX_OVERLAP.total_seconds())}",
            details={"field": "overlap_seconds", "reason": "out of range"},
        )
    before = await get_endpoint(change.connection, change.org_id, endpoint_id, lock=True)
    endpoint = replace(
        before,
        secret_number=before.secret_number + 1,
        previous_secret_until=change.at + overlap if overlap else None,
        updated_at=change.at,
    )
    secret = new_secret()
    await vault.keep(change.connection, change.org_id, vault_name(endpoint_id, endpoint.secret_number), secret)
    outdated = [before.secret_number - 1] + ([] if overlap else [before.secret_number])
    for number in outdated:
        await vault.forget(change.connection, change.org_id, vault_name(endpoint_id, number))
    await save_endpoint(change.connection, endpoint)
    await _record(change, EventType.WEBHOOK_ROTATED, endpoint)
    return endpoint, secret


async def send_test(change: OrganizationChange, endpoint_id: str) -> Delivery:
    """A ``webhook.test`` through the same queue as everything else. Raises NotFoundError."""
    endpoint = await get_endpoint(change.connection, change.org_id, endpoint_id)
    body = {
        "event": WebhookEvent.TEST.value,
        "timestamp": rfc3339(change.at),
        "data": {"endpoint_id": endpoint_id, "message": "Headgate can reach this endpoint."},
    }
    delivery = new_delivery(endpoint, WebhookEvent.TEST, canonical_bytes(body), change)
    await insert_delivery(change.connection, delivery)
    await defer(change.connection, DELIVER_WEBHOOK, change.org_id, delivery.delivery_id)
    await _record(change, EventType.WEBHOOK_TESTED, endpoint)
    return delivery


async def redeliver(change: OrganizationChange, endpoint_id: str, delivery_id: str) -> Delivery:
    """The same message, under the same id, with a day of its own. Raises NotFoundError, ConflictError."""
    endpoint = await get_endpoint(change.connection, change.org_id, endpoint_id)
    delivery = await get_delivery(change.connection, change.org_id, TargetKind.WEBHOOK, delivery_id, lock=True)
    if delivery.target_id != endpoint_id:
        raise NotFoundError(f"there is no delivery {delivery_id}")
    if not endpoint.enabled and delivery.event_id is not None:
        raise ConflictError(
            f"the endpoint {endpoint_id} is disabled and receives only tests. Enable it first.",
            details={"endpoint_id": endpoint_id, "disabled_reason": endpoint.disabled_reason},
        )
    require_move(delivery.status, DeliveryStatus.PENDING)
    await reopen(change.connection, delivery, change.at, change.at + GIVE_UP_AFTER)
    await defer(change.connection, DELIVER_WEBHOOK, change.org_id, delivery_id)
    data: JsonObject = {"delivery_id": delivery_id, "endpoint_id": endpoint_id}
    await change.record(EventType.DELIVERY_REPEATED, data)
    return await get_delivery(change.connection, change.org_id, TargetKind.WEBHOOK, delivery_id)


def new_delivery(
    endpoint: Endpoint,
    event: WebhookEvent,
    payload: bytes,
    change: Change,
    *,
    event_id: str | None = None,
    subject_id: str | None = None,
) -> Delivery:
    return fresh_delivery(
        change,
        TargetKind.WEBHOOK,
        endpoint.endpoint_id,
        event.value,
        payload.decode(),
        event_id=event_id,
        subject_id=subject_id,
    )


async def _record(change: OrganizationChange, event_type: EventType, endpoint: Endpoint) -> None:
    data: JsonObject = {
        "endpoint_id": endpoint.endpoint_id,
        "url": endpoint.url,
        "events": list[JsonValue]([event.value for event in endpoint.events]),
        "enabled": endpoint.enabled,
        "secret_number": endpoint.secret_number,
    }
    await change.record(event_type, data)


def sequence_of(endpoint: Endpoint, subject_id: str | None) -> str | None:
    """Deliveries of one endpoint about one approval follow each other; everything else goes side by side."""
    return None if subject_id is None else f"webhook {endpoint.endpoint_id} {subject_id}"
