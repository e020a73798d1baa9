"""What administrators do with destinations. Each change is recorded; a transaction is the caller's."""

from headgate.audit.feed_store import newest_seq
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.organizations.change import OrganizationChange
from headgate.organizations.change_setting import change_setting
from headgate.organizations.model import Setting, SettingName
from headgate.organizations.store import get_setting
from headgate.siem import store
from headgate.siem.model import Destination, parse_destinations, vault_name
from headgate.vault.service import Vault


async def load_destinations(connection: Connection, org_id: str) -> dict[str, Destination]:
    """Never set: none."""
    setting = await get_setting(connection, org_id, SettingName.SIEM)
    return {} if setting is None else dict(parse_destinations(parse_strict(setting.document.encode())).destinations)


async def put_destinations(
    change: OrganizationChange, document: JsonValue, vault: Vault
) -> tuple[dict[str, Destination], Setting]:
    """In place of all that was set. An authorization that is left out stays, unless the address is another: it was
    given for the one before. Raises ValidationError, UnavailableError."""
    org_id = change.org_id
    before = await load_destinations(change.connection, org_id)
    draft = parse_destinations(document)
    kept = {name for name in before if name in draft.destinations}
    for name, one in before.items():
        now = draft.destinations.get(name)
        if now is None or (now.address != one.address and name not in draft.secrets):
            await vault.forget(change.connection, org_id, vault_name(name))
    for name, secret in draft.secrets.items():
        await vault.keep(change.connection, org_id, vault_name(name), secret)
    newest = await newest_seq(change.connection, org_id)
    enabled = [one for one in draft.destinations.values() if one.enabled]
    # What is switched off keeps its place, so that switching it on again leaves no gap.
    await store.keep_only(change.connection, org_id, draft.destinations)
    for one in enabled:
        await store.start(change.connection, org_id, one.name, 0 if one.starts_at == "beginning" else newest)
    stored: JsonObject = {"destinations": {name: one.record() for name, one in draft.destinations.items()}}
    told: JsonObject = {
        "removed": list[JsonValue](sorted(set(before) - kept)),
        "secrets_changed": list[JsonValue](sorted(draft.secrets)),
    }
    setting = await change_setting(change, SettingName.SIEM, stored, moves_generation=False, told=told)
    return dict(draft.destinations), setting
