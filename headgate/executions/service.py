"""Setting an organization's limits and credentials."""

from headgate.audit.model import EventType
from headgate.executions.credentials import change_credentials, parse_credentials, require_hosts
from headgate.executions.model import ExecutionLimits, limits_document, limits_most, parse_limits
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.organizations.change import OrganizationChange
from headgate.organizations.change_setting import change_setting
from headgate.organizations.model import SettingName
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault


async def put_limits(change: OrganizationChange, document: JsonValue, *, concurrency_max: int) -> ExecutionLimits:
    """In place of all. No decision depends on them, so no generation moves. Raises ValidationError."""
    limits = parse_limits(document, limits_most(concurrency_max)).within(concurrency_max)
    await change_setting(change, SettingName.EXECUTIONS, limits_document(limits), moves_generation=False)
    return limits


async def put_credentials(
    change: OrganizationChange, document: JsonValue, vault: Vault, catalogue: CatalogueIndex
) -> None:
    """Recorded by their names. Raises ValidationError, UnavailableError."""
    changes = parse_credentials(document)
    require_hosts(changes, catalogue)
    await change_credentials(change.connection, change.org_id, vault, changes)
    data: JsonObject = {
        "name": "credentials",
        "set": list[JsonValue](sorted(name for name, value in changes.items() if value is not None)),
        "forgotten": list[JsonValue](sorted(name for name, value in changes.items() if value is None)),
    }
    await change.record(EventType.SETTING_CHANGED, data)
