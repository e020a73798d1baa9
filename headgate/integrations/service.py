"""Sets and loads the settings of an organization's integrations, the same way for all of them."""

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from headgate.audit.change import Change
from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.deliveries.model import GIVE_UP_AFTER, Delivery, DeliveryStatus, TargetKind, fresh_delivery, require_move
from headgate.deliveries.store import cancel_pending, get_delivery, reopen
from headgate.integrations.catalogue import SETTINGS
from headgate.integrations.form import IntegrationSettings, parse_draft, parse_stored, record
from headgate.integrations.model import Integration
from headgate.integrations.named import require_known
from headgate.integrations.store import connection_of, ensure_connection, lock_integration, report_key_of
from headgate.kernel.backoff import Backoff
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.notifications.links import KEY_NAME, new_key
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import Setting, SettingName
from headgate.organizations.setting_versions import keep_version
from headgate.organizations.store import get_setting, get_settings, put_setting
from headgate.queue.model import Job
from headgate.queue.store import defer
from headgate.relay.model import Consumer
from headgate.relay.store import start_at_the_end, stop
from headgate.vault.service import Vault

# The handler plans and counts its own attempts.
INTEGRATE: Final = Job(
    "integration.deliver", queue="integrations", backoff=Backoff(first_seconds=5, most_attempts=1_000_000)
)


class Stored(Struct, frozen=True):
    """``connection_id``: part of the platform's webhook address; ``secrets``: the names of the stored secrets."""

    settings: IntegrationSettings
    setting: Setting
    connection_id: str | None
    secrets: frozenset[str]


def vault_name(integration: Integration, member: str) -> str:
    return f"integration/{integration.value}/{member}"


def setting_name(integration: Integration) -> SettingName:
    return SettingName(integration.value)


async def load_stored(connection: Connection, org_id: str, integration: Integration, vault: Vault) -> Stored | None:
    """None if it was never set."""
    setting = await get_setting(connection, org_id, setting_name(integration))
    if setting is None:
        return None
    settings = parse_stored(SETTINGS[integration], parse_strict(setting.document.encode()))
    kept = await _kept(connection, org_id, integration, vault)
    return Stored(settings, setting, await connection_of(connection, org_id, integration), frozenset(kept))


async def load_secrets(
    connection: Connection, org_id: str, integration: Integration, vault: Vault
) -> dict[str, Secret]:
    """Secrets by member. Raises UnavailableError if one cannot be decrypted."""
    named = {vault_name(integration, member): member for member in SETTINGS[integration].SECRETS}
    return {named[name]: secret for name, secret in (await vault.open(connection, org_id, named)).items()}


async def enabled_integrations(connection: Connection, org_id: str) -> dict[Integration, IntegrationSettings]:
    stored = await get_settings(connection, org_id, [one.value for one in SETTINGS])
    parsed = {
        one: parse_stored(cls, parse_strict(stored[one.value].document.encode()))
        for one, cls in SETTINGS.items()
        if one.value in stored
    }
    return {one: settings for one, settings in parsed.items() if settings.enabled}


async def put_integration(
    change: OrganizationChange, integration: Integration, document: JsonValue, vault: Vault
) -> Stored:
    """Replaces the settings, with a kept version and an event. Raises ValidationError, UnavailableError."""
    org_id = change.org_id
    await lock_integration(change.connection, org_id, integration)
    before = await load_stored(change.connection, org_id, integration, vault)
    kept = set() if before is None else set(before.secrets)
    draft = parse_draft(SETTINGS[integration], document, None if before is None else before.settings, kept)
    await require_known(change.connection, org_id, draft.settings)
    for member, secret in draft.secrets.items():
        name = vault_name(integration, member)
        if secret is None:
            await vault.forget(change.connection, org_id, name)
            kept.discard(member)
        else:
            await vault.keep(change.connection, org_id, name, secret)
            kept.add(member)
    connection_id = await ensure_connection(change.connection, org_id, integration, new_id(IdPrefix.CONNECTION))
    stored = record(draft.settings)
    setting = await put_setting(
        change.connection, org_id, setting_name(integration), canonical_bytes(stored).decode(), change.user_id
    )
    await keep_version(change.connection, org_id, setting)
    data: JsonObject = {
        "document": stored,
        "name": setting.name.value,
        "secrets_changed": list[JsonValue](sorted(draft.secrets)),
        "version": setting.version,
    }
    await change.record(EventType.SETTING_CHANGED, data)
    await _follow(change, integration, draft.settings, vault)
    return Stored(draft.settings, setting, connection_id, frozenset(kept))


async def _follow(
    change: OrganizationChange, integration: Integration, settings: IntegrationSettings, vault: Vault
) -> None:
    """Follows the audit log while any integration needs it."""
    if not settings.enabled:
        await cancel_pending(change.connection, change.org_id, TargetKind.INTEGRATION, integration.value, change.at)
    if await enabled_integrations(change.connection, change.org_id):
        await start_at_the_end(change.connection, change.org_id, Consumer.INTEGRATIONS)
        if KEY_NAME not in await vault.names(change.connection, change.org_id, KEY_NAME):
            await vault.keep(change.connection, change.org_id, KEY_NAME, new_key())
    else:
        await stop(change.connection, change.org_id, Consumer.INTEGRATIONS)


async def _kept(connection: Connection, org_id: str, integration: Integration, vault: Vault) -> Collection[str]:
    prefix = vault_name(integration, "")
    return {name.removeprefix(prefix) for name in await vault.names(connection, org_id, prefix)}


async def redeliver(change: OrganizationChange, integration: Integration, delivery_id: str) -> Delivery:
    """Repeats a delivery with a day's time. Raises NotFoundError, ConflictError if it is waiting already."""
    delivery = await get_delivery(change.connection, change.org_id, TargetKind.INTEGRATION, delivery_id, lock=True)
    if delivery.target_id != integration.value:
        raise NotFoundError(f"there is no delivery {delivery_id}")
    require_move(delivery.status, DeliveryStatus.PENDING)
    await reopen(change.connection, delivery, change.at, change.at + GIVE_UP_AFTER)
    lock = await sequence_of(change.connection, integration, delivery)
    await defer(change.connection, INTEGRATE, change.org_id, delivery_id, lock=lock)
    data: JsonObject = {"integration": integration.value, "delivery_id": delivery_id}
    await change.record(EventType.DELIVERY_REPEATED, data)
    return await get_delivery(change.connection, change.org_id, TargetKind.INTEGRATION, delivery_id)


def new_delivery(
    change: Change,
    integration: Integration,
    event: str,
    payload: JsonObject,
    *,
    event_id: str | None,
    subject_id: str,
) -> Delivery:
    text = canonical_bytes(payload).decode()
    return fresh_delivery(
        change, TargetKind.INTEGRATION, integration.value, event, text, event_id=event_id, subject_id=subject_id
    )


async def sequence_of(connection: Connection, integration: Integration, delivery: Delivery) -> str:
    """The queue's lock. Notices about one approval or one report run in order: a report has the states of all its items
    when the attempt begins, and an earlier attempt must not overwrite a later one."""
    subject = delivery.subject_id or delivery.delivery_id
    report = await report_key_of(connection, delivery.org_id, integration, subject)
    return f"integrate {delivery.org_id} {integration.value} {report or subject}"
