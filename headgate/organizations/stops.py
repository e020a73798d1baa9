"""The kill switch: what of an organization is stopped, and whether an action is. Pure.

Stops are a setting, so that setting one raises the generation: every decision in flight is made again with it, in
every process. Whatever carries actions out asks ``stopping`` before it does.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError


class StopScope(StrEnum):
    ORGANIZATION = "organization"
    AGENT = "agent"
    TOOL = "tool"


class Stop(Struct, frozen=True):
    """``target``: the agent's id or the tool's name; None for the organization. ``at``: RFC 3339."""

    scope: StopScope
    target: str | None
    reason: str
    stopped_by: str
    at: str

    def covers(self, *, agent_id: str | None, tool: str) -> bool:
        match self.scope:
            case StopScope.ORGANIZATION:
                return True
            case StopScope.AGENT:
                return self.target == agent_id
            case StopScope.TOOL:
                return self.target == tool

    def record(self) -> JsonObject:
        return {
            "scope": self.scope.value,
            "target": self.target,
            "reason": self.reason,
            "stopped_by": self.stopped_by,
            "at": self.at,
        }


type Stops = tuple[Stop, ...]

NOTHING_STOPPED: Final[Stops] = ()


def stopping(stops: Iterable[Stop], *, agent_id: str | None, tool: str) -> Stop | None:
    """The stop that refuses an action of this agent with this tool; None: it is not stopped."""
    return next((stop for stop in stops if stop.covers(agent_id=agent_id, tool=tool)), None)


def refusal(stop: Stop) -> str:
    """What an agent and the record are told."""
    what = {StopScope.ORGANIZATION: "everything", StopScope.AGENT: "this agent", StopScope.TOOL: "this tool"}
    return f"{what[stop.scope]} is stopped: {stop.reason}"


def with_stop(stops: Stops, stop: Stop) -> Stops:
    """Once for each scope and target: a second one replaces the first. The organization's comes first."""
    kept = [one for one in stops if (one.scope, one.target) != (stop.scope, stop.target)]
    return tuple(sorted([*kept, stop], key=lambda one: (list(StopScope).index(one.scope), one.target or "")))


def without_stop(stops: Stops, scope: StopScope, target: str | None) -> tuple[Stops, Stop | None]:
    """What is left, and what was lifted; None: it was not stopped."""
    lifted = next((one for one in stops if (one.scope, one.target) == (scope, target)), None)
    return tuple(one for one in stops if one is not lifted), lifted


def stops_text(stops: Stops) -> str:
    """The setting's document."""
    listed: list[JsonValue] = [stop.record() for stop in stops]
    return canonical_bytes({"stops": listed}).decode()


def parse_stops(document: str | None) -> Stops:
    """Raises ValidationError: a switch that cannot be read must not pass for one that is not set."""
    if document is None:
        return NOTHING_STOPPED
    try:
        read: Any = parse_strict(document.encode())
        return tuple(
            Stop(StopScope(one["scope"]), one["target"], one["reason"], one["stopped_by"], one["at"])
            for one in read["stops"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValidationError("the kill switch's setting cannot be read") from error
