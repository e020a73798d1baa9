"""The filter language of the calls: ``agent:billing tool:stripe status:failed path~refund invoice``.

``name:value`` compares, ``path~part`` looks for a part, and other words are looked for in what the call says. Quotes
keep spaces: ``agent:"night shift"``. ``since:`` and ``until:`` take a time (ISO 8601) or how long ago: ``since:2h``.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct

from headgate.actions.model import ActionStatus
from headgate.kernel.errors import ValidationError

_WORD: Final = re.compile(r'(?:([a-z]+)([:~]))?(?:"([^"]*)"|(\S+))')
type Verdict = Literal["allow", "deny", "require_approval"]

_DECISIONS: Final[Mapping[str, Verdict]] = {
    "allow": "allow",
    "deny": "deny",
    "hold": "require_approval",
    "require_approval": "require_approval",
}
_STATUSES: Final = tuple(one.value for one in ActionStatus)
_MOST_CHARACTERS: Final = 1_000
_AGO: Final = re.compile(r"([0-9]{1,5})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+(Z|[+-][0-9:]+)?)?")


class CallFilter(Struct, frozen=True):
    """None: any. ``decision`` is the API's word."""

    agent: str | None = None
    tool: str | None = None
    operation: str | None = None
    tag: str | None = None
    host: str | None = None
    decision: Verdict | None = None
    status: ActionStatus | None = None
    method: str | None = None
    path: str | None = None
    since: str | None = None
    until: str | None = None
    text: str | None = None


NAMES: Final = tuple(name for name in CallFilter.__struct_fields__ if name != "text")


VALUES: Final = (
    *(f"decision:{one}" for one in ("allow", "deny", "hold")),
    *(f"status:{one}" for one in _STATUSES),
    *(f"method:{one}" for one in ("GET", "POST", "PUT", "PATCH", "DELETE")),
    *(f"since:{one}" for one in ("15m", "1h", "24h", "7d")),
)
"""What completes a filter beside the names."""


def parse_call_filter(query: str) -> CallFilter:
    """Raises ValidationError, which names the word that cannot be read."""
    if len(query) > _MOST_CHARACTERS:
        raise ValidationError(f"The filter has more than {_MOST_CHARACTERS} characters.", details={"field": "q"})
    if query.count('"') % 2:
        raise _unknown(f'{query[query.rindex('"') :][:64]}: the quote is not closed. Write agent:"night shift".')
    found: dict[str, str] = {}
    words: list[str] = []
    for name, sign, quoted, plain in _WORD.findall(query):
        value = quoted or plain
        if not name or name in ("http", "https"):
            words.append(f"{name}{sign}{value}")
            continue
        _require_known(name, sign, value, found)
        found[name] = value
    status, decision = found.pop("status", None), found.pop("decision", None)
    return CallFilter(
        **found,
        status=None if status is None else ActionStatus(status),
        decision=None if decision is None else _DECISIONS[decision],
        text=" ".join(words) or None,
    )


def moment_of(text: str | None, now: datetime) -> str | None:
    """Converts a time or an age to the API's form."""
    ago = None if text is None else _AGO.fullmatch(text)
    return text if ago is None else (now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})).isoformat()


def _require_known(name: str, sign: str, value: str, found: dict[str, str]) -> None:
    word = f"{name}{sign}{value}"[:64]
    if name not in NAMES:
        raise _unknown(f"{word}: unknown filter {name[:32]!r}. Filters: {', '.join(NAMES)}.")
    if name in found:
        raise _unknown(f"{word}: {name} is given twice.")
    if (name == "path") != (sign == "~"):
        raise _unknown(f"{word}: write {'path~part' if name == 'path' else f'{name}:value'}.")
    if name == "decision" and value not in _DECISIONS:
        raise _unknown(f"{word}: decision must be allow, deny or hold.")
    if name in ("since", "until") and not (_AGO.fullmatch(value) or _TIME.fullmatch(value)):
        raise _unknown(f"{word}: expected a date (2026-11-24), a UTC time (2026-11-24T09:30) or an age (15m, 2h, 7d).")
    if name == "status" and value not in _STATUSES:
        raise _unknown(f"{word}: status must be one of {', '.join(_STATUSES)}.")


def _unknown(message: str) -> ValidationError:
    return ValidationError(message, details={"field": "q", "reason": message})
