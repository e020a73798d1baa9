"""Setting a document anew: its next version, and the event that says so, in the caller's transaction."""

from headgate.audit.change import Change
from headgate.audit.model import Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.organizations.model import Setting, SettingName
from headgate.organizations.store import bump_generation, put_setting


async def change_setting(
    connection: Connection,
    change: Change,
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
        data["generation"] = await bump_generation(connection, change.org_id)
    setting = await put_setting(connection, change.org_id, name, canonical_bytes(document).decode(), change.user_id)
    data["version"] = setting.version
    await append(connection, change.org_id, [Event(EventType.SETTING_CHANGED, change.at, change.actor, data)])
    return setting
