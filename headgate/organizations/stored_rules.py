"""The destinations that an organization permits, within what the operator has opened to it, as they are set now."""

import json

from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.organizations.change import OrganizationChange
from headgate.organizations.change_setting import change_setting
from headgate.organizations.destinations import Allowlist, Destination, parse_allowlist, parse_bounds
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, SettingName
from headgate.organizations.store import get_setting, get_settings


async def destination_rules(connection: Connection, org_id: str) -> Allowlist:
    """Public addresses only, where no allowlist was ever set."""
    found = await get_settings(connection, org_id, (SettingName.ALLOWLIST, SettingName.PRIVATE_DESTINATIONS))
    allowlist, private = (found.get(name) for name in (SettingName.ALLOWLIST, SettingName.PRIVATE_DESTINATIONS))
    bounds = _bounds(org_id, None if private is None else private.document)
    return Allowlist(bounds=bounds) if allowlist is None else parse_allowlist(allowlist.document, bounds)


async def stored_bounds(connection: Connection, org_id: str) -> tuple[Destination, ...] | None:
    """The private destinations that the operator has opened to the organization; None: all of them."""
    setting = await get_setting(connection, org_id, SettingName.PRIVATE_DESTINATIONS)
    return _bounds(org_id, None if setting is None else setting.document)


async def open_private_destinations(change: OrganizationChange, document: JsonObject) -> None:
    """Replaces the bounds of the change's organization, at its operator's word. Raises ValidationError."""
    parse_bounds(document)
    await change_setting(change, SettingName.PRIVATE_DESTINATIONS, document, moves_generation=True)


def _bounds(org_id: str, document: str | None) -> tuple[Destination, ...] | None:
    """The operator's own organization reaches what it lists, until the operator restricts it too."""
    if document is None:
        return None if org_id == DEFAULT_ORGANIZATION_ID else ()
    return parse_bounds(json.loads(document))
