"""Setting a document anew: its next version, and the event that says so, in the caller's transaction."""

from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import Setting, SettingName
from headgate.organizations.store import put_setting


async def change_setting(
    change: OrganizationChange,
    name: SettingName,
    document: JsonValue,
    *,
    moves_generation: bool,
    told: JsonObject | None = None,
) -> Setting:
    """``document`` has been checked. ``moves_generation``: decisions rest on it, and those made on the one before are
    stale from here on, in every process. ``told``: what the event says besides."""
    data: JsonObject = {"document": document, "name": name.value, **(told or {})}
    if moves_generation:
        data["generation"] = await change.raise_generation()
    setting = await put_setting(
        change.connection, change.org_id, name, canonical_bytes(document).decode(), change.user_id
    )
    data["version"] = setting.version
    await change.record(EventType.SETTING_CHANGED, data)
    return setting
