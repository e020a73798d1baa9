"""Parses one route of the settings document: channels, conditions and hours."""

import re
from collections.abc import Collection
from datetime import time
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headgate.kernel.canonical_json import JsonValue
from headgate.notifications.members import fault, names_of, object_of, text_of
from headgate.notifications.model import DAYS, NOTIFIED_EVENTS, Hours, Route
from headgate.policies.model import RiskLevel

_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


def parse_route(where: str, entry: JsonValue, channels: Collection[str]) -> Route:
    lists = ("channels", "events", "risk_levels", "tools", "agents", "assignees")
    members = object_of(where, entry, {*lists, "between"})
    allowed: dict[str, Collection[str]] = {
        "channels": channels,
        "events": NOTIFIED_EVENTS,
        "risk_levels": [level.value for level in RiskLevel],
    }
    found = {name: names_of(f"{where}.{name}", members.get(name, []), allowed.get(name)) for name in lists}
    if not found["channels"]:
        raise fault(f"{where}.channels", "at least one of the channels above")
    between = members.get("between")
    return Route(**found, hours=None if between is None else _hours(f"{where}.between", between))


def _hours(where: str, entry: JsonValue) -> Hours:
    members = object_of(where, entry, {"from", "until", "days", "time_zone"})
    days = names_of(f"{where}.days", members.get("days", list[JsonValue](DAYS)), DAYS)
    zone = text_of(f"{where}.time_zone", members.get("time_zone", "UTC"), 64)
    try:
        found = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise fault(f"{where}.time_zone", "a name of the time zone database, as in Europe/Berlin") from error
    start, end = _clock(f"{where}.from", members.get("from")), _clock(f"{where}.until", members.get("until"))
    if start == end or not days:
        raise fault(where, "it must cover some time on some day")
    return Hours(start, end, frozenset(DAYS.index(day) for day in days), found)


def _clock(where: str, value: JsonValue) -> time:
    match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise fault(where, "a time of day, as in 08:30")
    return time(int(match[1]), int(match[2]))
