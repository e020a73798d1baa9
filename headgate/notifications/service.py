"""Sets and loads an organization's notification settings, and repeats or tests single messages."""

from functools import partial
from typing import Final

from headgate.audit.change import Change
from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.deliveries.model import GIVE_UP_AFTER, Delivery, DeliveryStatus, TargetKind, fresh_delivery, require_move
from headgate.deliveries.store import cancel_pending, get_delivery, insert_delivery, reopen
from headgate.kernel.backoff import Backoff
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.notifications.links import KEY_NAME, new_key
from headgate.notifications.model import NOTHING_SET, Channel, NotificationSettings
from headgate.notifications.parse import parse_notifications, parse_stored, secrets_of
from headgate.notifications.store import lock_settings, replace_connections
from headgate.organizations.change import OrganizationChange
from headgate.organizations.change_setting import change_setting
from headgate.organizations.model import Setting, SettingName
from headgate.organizations.setting_versions import keep_version
from headgate.organizations.store import get_setting
from headgate.queue.model import Job
from headgate.queue.store import defer
from headgate.relay.model import Consumer
from headgate.relay.store import start_at_the_end, stop
from headgate.vault.service import Vault

# The handler plans and counts its own attempts; to the queue, waiting for the receiver's turn is an attempt too.
NOTIFY: Final = Job(
    "notification.deliver", queue="notifications", backoff=Backoff(first_seconds=5, most_attempts=1_000_000)
)
DIGEST: Final = Job("notification.digest", queue="notifications", backoff=Backoff(first_seconds=5, most_attempts=100))


def vault_name(channel: str, member: str) -> str:
    return f"notification/{channel}/{member}"


async def load_settings(connection: Connection, org_id: str) -> NotificationSettings:
    setting = await get_setting(connection, org_id, SettingName.NOTIFICATIONS)
    return NOTHING_SET if setting is None else parse_stored(parse_strict(setting.document.encode()))


async def load_secrets(connection: Connection, org_id: str, channel: Channel, vault: Vault) -> dict[str, Secret]:
    """Secrets by member. Raises UnavailableError if one cannot be decrypted."""
    names = {vault_name(channel.name, member): member for member in secrets_of(channel.kind)}
    return {names[name]: secret for name, secret in (await vault.open(connection, org_id, names)).items()}


async def link_key(connection: Connection, org_id: str, vault: Vault) -> Secret | None:
    return (await vault.open(connection, org_id, [KEY_NAME])).get(KEY_NAME)


async def put_notifications(
    change: OrganizationChange, document: JsonValue, vault: Vault
) -> tuple[NotificationSettings, Setting]:
    """Replaces the settings. Secrets that are not submitted stay; secrets of removed channels are deleted.

    Raises ValidationError, UnavailableError.
    """
    org_id = change.org_id
    await lock_settings(change.connection, org_id)
    before = await load_settings(change.connection, org_id)
    draft = parse_notifications(document, before, partial(new_id, IdPrefix.CONNECTION))
    settings = draft.settings
    for name, channel in before.channels.items():
        now = settings.channels.get(name)
        if now is None or now.kind is not channel.kind:
            for member in secrets_of(channel.kind):
                await vault.forget(change.connection, org_id, vault_name(name, member))
            await cancel_pending(change.connection, org_id, TargetKind.CHANNEL, name, change.at)
    for (name, member), secret in draft.secrets.items():
        await vault.keep(change.connection, org_id, vault_name(name, member), secret)
    connections = {one.connection_id: one.name for one in settings.channels.values() if one.connection_id is not None}
    await replace_connections(change.connection, org_id, connections)
    if settings.channels:
        await start_at_the_end(change.connection, org_id, Consumer.NOTIFICATIONS)
        if await link_key(change.connection, org_id, vault) is None:
            await vault.keep(change.connection, org_id, KEY_NAME, new_key())
    else:
        await stop(change.connection, org_id, Consumer.NOTIFICATIONS)
    setting = await change_setting(
        change,
        SettingName.NOTIFICATIONS,
        settings.record(),
        moves_generation=False,
        told={"secrets_changed": list[JsonValue](sorted(f"{name}.{member}" for name, member in draft.secrets))},
    )
    await keep_version(change.connection, org_id, setting)
    return settings, setting


async def send_test(change: OrganizationChange, channel: str) -> Delivery:
    """Raises NotFoundError."""
    if channel not in (await load_settings(change.connection, change.org_id)).channels:
        raise NotFoundError(f"no channel {channel[:64]}")
    payload = canonical_bytes({"event": "notification.test", "timestamp": rfc3339(change.at)}).decode()
    delivery = new_delivery(change, channel, "notification.test", payload)
    await insert_delivery(change.connection, delivery)
    await defer(change.connection, NOTIFY, change.org_id, delivery.delivery_id)
    data: JsonObject = {"channel": channel, "delivery_id": delivery.delivery_id}
    await change.record(EventType.NOTIFICATION_TESTED, data)
    return delivery


async def redeliver(change: OrganizationChange, delivery_id: str) -> Delivery:
    """Raises NotFoundError, ConflictError, or ValidationError if the channel was deleted."""
    delivery = await get_delivery(change.connection, change.org_id, TargetKind.CHANNEL, delivery_id, lock=True)
    require_move(delivery.status, DeliveryStatus.PENDING)
    if delivery.target_id not in (await load_settings(change.connection, change.org_id)).channels:
        raise ValidationError(f"The channel {delivery.target_id} no longer exists.", details={"field": "channel"})
    await reopen(change.connection, delivery, change.at, change.at + GIVE_UP_AFTER)
    await defer(change.connection, NOTIFY, change.org_id, delivery_id)
    data: JsonObject = {"channel": delivery.target_id, "delivery_id": delivery_id}
    await change.record(EventType.DELIVERY_REPEATED, data)
    return await get_delivery(change.connection, change.org_id, TargetKind.CHANNEL, delivery_id)


def new_delivery(
    change: Change,
    channel: str,
    event: str,
    payload: str,
    *,
    event_id: str | None = None,
    subject_id: str | None = None,
    status: DeliveryStatus = DeliveryStatus.PENDING,
    delivery_id: str | None = None,
) -> Delivery:
    return fresh_delivery(
        change,
        TargetKind.CHANNEL,
        channel,
        event,
        payload,
        event_id=event_id,
        subject_id=subject_id,
        status=status,
        delivery_id=delivery_id,
    )
