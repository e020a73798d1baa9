"""An organization's retention policy, as it is set."""

from collections.abc import Sequence

from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.organizations.change import OrganizationChange
from headgate.organizations.change_setting import change_setting
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.retention.model import RetentionPolicy, parse_policy, policy_document


async def load_policy(connection: Connection, org_id: str, kinds: Sequence[str]) -> RetentionPolicy:
    """The defaults where it was never set. Raises ValidationError where what is stored cannot be read: nothing is
    dropped by a policy that nobody understands."""
    setting = await get_setting(connection, org_id, SettingName.RETENTION)
    return RetentionPolicy() if setting is None else parse_policy(parse_strict(setting.document.encode()), kinds)


async def put_policy(change: OrganizationChange, document: JsonValue, kinds: Sequence[str]) -> RetentionPolicy:
    """In place of the one before. No decision depends on it, so no generation moves. Raises ValidationError."""
    policy = parse_policy(document, kinds)
    await change_setting(change, SettingName.RETENTION, policy_document(policy), moves_generation=False)
    return policy
