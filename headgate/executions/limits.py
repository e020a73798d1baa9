"""An organization's limits, as they are set."""

from functools import lru_cache

from headgate.db.database import Connection
from headgate.executions.model import ExecutionLimits, parse_limits
from headgate.kernel.canonical_json import parse_strict
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting


async def load_limits(connection: Connection, org_id: str) -> ExecutionLimits:
    """The defaults where they were never set."""
    setting = await get_setting(connection, org_id, SettingName.EXECUTIONS)
    return limits_from(None if setting is None else setting.document)


@lru_cache(maxsize=1024)
def limits_from(document: str | None) -> ExecutionLimits:
    """From the stored document; None: they were never set."""
    return ExecutionLimits() if document is None else parse_limits(parse_strict(document.encode()))
