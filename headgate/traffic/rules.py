"""Which calls are captured: the organization's rules, and what its policies say of one call. Pure.

``{"rules": [{"agents": […], "tools": […], "operations": […], "hosts": […], "capture": "bodies"}],
"body_limit_bytes": 65536}``. The first rule that fits decides; a list that is empty or left out fits everything. Where
policies mark the call as well, whoever wants the least has it: what one of them marks ``off`` is never captured.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from headgate.kernel.call_name import NAME_RULE, first_unfit
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix
from headgate.kernel.whole_numbers import whole_number
from headgate.traffic.model import CaptureLevel, least

BODY_LIMIT_DEFAULT_BYTES: Final = 64 << 10
BODY_LIMIT_MOST_BYTES: Final = 512 << 10
_RULES_MAX: Final = 100
_NAMES_MAX: Final = 200
_NAME_MAX: Final = 253
_LISTS: Final = ("agents", "tools", "operations", "hosts")


class CaptureRule(Struct, frozen=True):
    """Each list empty: any. A host is a name, or ``*.name`` for all below it."""

    agents: tuple[str, ...]
    tools: tuple[str, ...]
    operations: tuple[str, ...]
    hosts: tuple[str, ...]
    capture: CaptureLevel

    def fits(self, agent_id: str, tool: str, operation: str, host: str) -> bool:
        return (
            (not self.agents or agent_id in self.agents)
            and (not self.tools or tool in self.tools)
            and (not self.operations or operation in self.operations)
            and (not self.hosts or any(_is_host(one, host) for one in self.hosts))
        )


class CaptureRules(Struct, frozen=True):
    """``body_limit_bytes``: how much of each body is kept, as it is on the wire."""

    rules: tuple[CaptureRule, ...] = ()
    body_limit_bytes: int = BODY_LIMIT_DEFAULT_BYTES

    def require_call_names(self) -> None:
        """Raises ValidationError for a name that no call can have: such a rule captures nothing, and one
        that is to switch a capture off leaves it on. What was stored earlier may have one."""
        for place, rule in enumerate(self.rules):
            for name in ("tools", "operations"):
                if (number := first_unfit(getattr(rule, name))) is not None:
                    raise _invalid(f"rules[{place}].{name}[{number}]", NAME_RULE)

    def level(
        self, *, agent_id: str, tool: str, operation: str, host: str, marks: Sequence[CaptureLevel] = ()
    ) -> CaptureLevel:
        """``marks``: what policies say of this very call."""
        rule = next((one for one in self.rules if one.fits(agent_id, tool, operation, host)), None)
        said = [*marks] if rule is None else [*marks, rule.capture]
        return least(said) or CaptureLevel.OFF


NO_CAPTURES: Final = CaptureRules()


def _is_host(wanted: str, host: str) -> bool:
    return host.endswith(wanted[1:]) if wanted.startswith("*.") else host == wanted


def parse_capture_rules(document: JsonValue) -> CaptureRules:
    """Raises ValidationError, which names the member."""
    if not isinstance(document, dict):
        raise _invalid("", "an object is expected")
    _refuse_unknown("", document, ("rules", "body_limit_bytes"))
    rules = document.get("rules", [])
    if not isinstance(rules, list) or len(rules) > _RULES_MAX:
        raise _invalid("rules", f"a list of at most {_RULES_MAX} rules is expected")
    limit = whole_number(document.get("body_limit_bytes", BODY_LIMIT_DEFAULT_BYTES))
    if limit is None or not 1 <= limit <= BODY_LIMIT_MOST_BYTES:
        raise _invalid("body_limit_bytes", f"a whole number from 1 to {BODY_LIMIT_MOST_BYTES} is expected")
    return CaptureRules(tuple(_rule(f"rules[{number}]", one) for number, one in enumerate(rules)), limit)


def capture_rules_document(rules: CaptureRules) -> JsonObject:
    """As it is stored and shown."""
    listed: list[JsonValue] = []
    for one in rules.rules:
        lists: JsonObject = {name: list[JsonValue](getattr(one, name)) for name in _LISTS}
        listed.append({**lists, "capture": one.capture.value})
    return {"rules": listed, "body_limit_bytes": rules.body_limit_bytes}


def _rule(field: str, value: JsonValue) -> CaptureRule:
    if not isinstance(value, dict):
        raise _invalid(field, "an object is expected")
    _refuse_unknown(field, value, (*_LISTS, "capture"))
    capture = value.get("capture")
    if capture not in tuple(CaptureLevel):
        raise _invalid(f"{field}.capture", f"one of {', '.join(CaptureLevel)} is expected")
    agents, tools, operations, hosts = (_names(f"{field}.{name}", value.get(name, [])) for name in _LISTS)
    if not all(one.startswith(f"{IdPrefix.AGENT}_") for one in agents):
        raise _invalid(f"{field}.agents", "an agent's id is expected (agt_…): a name matches no agent")
    return CaptureRule(agents, tools, operations, tuple(host.lower() for host in hosts), CaptureLevel(str(capture)))


def _names(field: str, value: JsonValue) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _NAMES_MAX:
        raise _invalid(field, f"a list of at most {_NAMES_MAX} names is expected")
    names: list[str] = []
    for one in value:
        if not isinstance(one, str) or not 1 <= len(one) <= _NAME_MAX:
            raise _invalid(field, f"a name has from 1 to {_NAME_MAX} characters")
        names.append(one)
    return tuple(names)


def _refuse_unknown(field: str, value: JsonObject, known: Sequence[str]) -> None:
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise _invalid(f"{field}.{unknown[0][:64]}".lstrip("."), "unknown field")


def _invalid(field: str, reason: str) -> ValidationError:
    return ValidationError(
        f"captures: {field + ': ' if field else ''}{reason}", details={"field": field, "reason": reason}
    )
