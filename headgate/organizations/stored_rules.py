"""The destinations that an organization permits, as they are set now."""

from headgate.db.database import Connection
from headgate.organizations.destinations import Allowlist, parse_allowlist
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting


async def destination_rules(connection: Connection, org_id: str) -> Allowlist:
    """Public addresses only, where no allowlist was ever set."""
    setting = await get_setting(connection, org_id, SettingName.ALLOWLIST)
    return Allowlist.empty() if setting is None else parse_allowlist(setting.document)
