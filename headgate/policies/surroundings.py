"""What an organization's policies read beside the call: its data documents and its shared modules."""

from dataclasses import dataclass

from headgate.db.database import Connection
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.policies.compile import Libraries
from headgate.policies.data import policy_data


@dataclass(frozen=True, slots=True)
class Surroundings:
    """``data`` is canonical JSON; ``allowlist`` the text of the setting, None where it was never set."""

    data: bytes
    libraries: Libraries
    allowlist: str | None


async def load_surroundings(connection: Connection, org_id: str) -> Surroundings:
    """As of now, in the caller's transaction."""
    setting = await get_setting(connection, org_id, SettingName.ALLOWLIST)
    allowlist = None if setting is None else setting.document
    return Surroundings(policy_data(allowlist), (), allowlist)
