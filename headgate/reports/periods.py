"""Time as people read it: days, weeks or months, whichever a chart has room for; and how long somebody waited."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

_MOST_DAYS: Final = 45
_MOST_WEEKS: Final = 60


def by_period(days: Mapping[str, Mapping[str, int]]) -> list[tuple[str, Mapping[str, int]]]:
    """``days`` are ISO dates; days without anything in between are there, and empty."""
    dates = sorted(date.fromisoformat(one) for one in days if one[:1].isdigit())
    if not dates:
        return []
    first, last = dates[0], dates[-1]
    length = (last - first).days + 1
    found: dict[str, Mapping[str, int]] = {}
    for offset in range(length):
        day = first + timedelta(offset)
        label = _label(day, length)
        before, added = found.get(label, {}), days.get(day.isoformat(), {})
        found[label] = {kind: before.get(kind, 0) + added.get(kind, 0) for kind in {*before, *added}}
    return list(found.items())


def _label(day: date, length: int) -> str:
    if length <= _MOST_DAYS:
        return f"{day.day} {day:%b}"
    if length <= _MOST_WEEKS * 7:
        monday = day - timedelta(day.weekday())
        return f"{monday.day} {monday:%b %y}"
    return f"{day:%b %Y}"


def waited_text(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86_400:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min"
    return f"{seconds // 86_400} d {seconds % 86_400 // 3600} h"
