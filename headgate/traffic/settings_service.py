"""An organization's capture rules, as they are set."""

from functools import lru_cache

from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.organizations.change import OrganizationChange
from headgate.organizations.change_setting import change_setting
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.traffic.rules import NO_CAPTURES, CaptureRules, capture_rules_document, parse_capture_rules


async def load_capture_rules(connection: Connection, org_id: str) -> CaptureRules:
    """Nothing is captured where nobody has set anything."""
    setting = await get_setting(connection, org_id, SettingName.CAPTURES)
    return NO_CAPTURES if setting is None else _parsed(setting.document)


@lru_cache(maxsize=1024)
def _parsed(document: str) -> CaptureRules:
    return parse_capture_rules(parse_strict(document.encode()))


async def put_capture_rules(change: OrganizationChange, document: JsonValue) -> CaptureRules:
    """In place of all rules. The generation rises, so that what is switched off is off for every call that is decided
    afterwards, in every process. Raises ValidationError."""
    rules = parse_capture_rules(document)
    rules.require_call_names()
    await change_setting(change, SettingName.CAPTURES, capture_rules_document(rules), moves_generation=True)
    return rules
