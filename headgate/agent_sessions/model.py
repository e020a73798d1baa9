"""One session of an agent: what is kept of its calls, and what policies read of them (``input.session``). Pure.

A session is all calls of an agent without an hour's pause between two. It has no name that a client could choose: an
agent that was deceived would leave its session behind by choosing another.
"""

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.clock import rfc3339

PAUSE_SECONDS: Final = 3600
"""Without a call, a session ends."""
RECENT_MAX: Final = 20
"""Calls that policies read one by one."""
OPERATIONS_MAX: Final = 100
DESTINATIONS_MAX: Final = 1_000
_COUNTED_MAX: Final = 1_000
_READS: Final = re.compile(r'\.session\b|["`]session["`]')
_MINUTE_SECONDS: Final = 60
APPROVED_CALL: Final = "approved"
"""The decision of a held call that goes."""
_DECISIONS: Final = {"allow": "allowed", APPROVED_CALL: "allowed", "deny": "denied", "require_approval": "held"}


class SessionCall(Struct, frozen=True):
    """One decided call. ``at``: seconds since the epoch. ``decision``: ``allow``, ``deny``, ``require_approval``, or
    ``approved`` where a held call goes. ``detectors``: what policies about content found in it."""

    at: float
    tool: str
    operation: str
    effect: str | None
    host: str | None
    decision: str
    bytes_out: int
    detectors: tuple[str, ...] = ()


class LastMinute:
    """The newest calls by decision. Counted as they come and go: an agent may call a thousand times in a minute."""

    __slots__ = ("_calls", "_counts")

    def __init__(self) -> None:
        self._calls: deque[tuple[float, str]] = deque()
        self._counts: Counter[str] = Counter()

    def add(self, at: float, decision: str) -> None:
        self._calls.append((at, decision))
        self._counts[decision] += 1
        if len(self._calls) > _COUNTED_MAX:
            self._forget_oldest()

    def counted(self, now: float) -> JsonObject:
        while self._calls and self._calls[0][0] < now - _MINUTE_SECONDS:
            self._forget_oldest()
        return {name: self._counts[name] for name in ("allowed", "denied", "held")}

    def _forget_oldest(self) -> None:
        _, decision = self._calls.popleft()
        self._counts[decision] -= 1


class Session:
    """Grows within bounds: the oldest operations and destinations are forgotten first."""

    __slots__ = (
        "_bytes_out",
        "_destinations",
        "_detectors",
        "_minute",
        "_operations",
        "_recent",
        "_since",
        "_totals",
        "last_at",
    )

    def __init__(self, since: float) -> None:
        self._since = since
        self.last_at = since
        self._totals: Counter[str] = Counter()
        self._bytes_out = 0
        self._operations: OrderedDict[str, int] = OrderedDict()
        self._destinations: OrderedDict[str, tuple[int, int, float]] = OrderedDict()
        self._detectors: Counter[str] = Counter()
        self._recent: deque[SessionCall] = deque(maxlen=RECENT_MAX)
        self._minute = LastMinute()

    def add(self, call: SessionCall) -> None:
        self.last_at = max(self.last_at, call.at)
        decision = _DECISIONS.get(call.decision, call.decision)
        self._totals[decision] += 1
        self._minute.add(call.at, decision)
        self._detectors.update(call.detectors)
        self._recent.append(call)
        name = f"{call.tool}.{call.operation}"
        self._operations[name] = self._operations.pop(name, 0) + 1
        if len(self._operations) > OPERATIONS_MAX:
            self._operations.popitem(last=False)
        if call.host is not None and decision == "allowed":
            self._bytes_out += call.bytes_out
            calls, size, first_at = self._destinations.pop(call.host, (0, 0, call.at))
            self._destinations[call.host] = (calls + 1, size + call.bytes_out, first_at)
            if len(self._destinations) > DESTINATIONS_MAX:
                self._destinations.popitem(last=False)

    def summary(self, now: float, host: str | None) -> JsonObject:
        """``destination`` is what went to ``host``, the host of the call that is being decided."""
        recent: list[JsonValue] = [_shown(call, now) for call in reversed(self._recent)]
        operations: JsonObject = dict(self._operations)
        detectors: JsonObject = dict(self._detectors)
        return {
            "since": rfc3339(datetime.fromtimestamp(self._since, UTC)),
            **{name: self._totals[name] for name in ("allowed", "denied", "held")},
            "bytes_out": self._bytes_out,
            "operations": operations,
            "detectors": detectors,
            "destinations": len(self._destinations),
            "destination": None if host is None else self._destination(host, now),
            "last_minute": self._minute.counted(now),
            "recent": recent,
        }

    def _destination(self, host: str, now: float) -> JsonObject:
        calls, size, first_at = self._destinations.get(host, (0, 0, now))
        return {"calls": calls, "bytes_out": size, "first_seconds_ago": _seconds(now - first_at)}


def reads_sessions(sources: Iterable[str]) -> bool:
    """``sources``: the text of each enabled policy and module. What none reads is not kept."""
    return any(_READS.search(source) is not None for source in sources)


def empty_summary(now: float, host: str | None) -> JsonObject:
    """Of an agent that has called nothing lately."""
    return Session(now).summary(now, host)


def _shown(call: SessionCall, now: float) -> JsonObject:
    return {
        "tool": call.tool,
        "operation": call.operation,
        "effect": call.effect,
        "host": call.host,
        "decision": call.decision,
        "bytes_out": call.bytes_out,
        "detectors": list(call.detectors),
        "seconds_ago": _seconds(now - call.at),
    }


def _seconds(value: float) -> float:
    return round(max(value, 0.0), 3)
