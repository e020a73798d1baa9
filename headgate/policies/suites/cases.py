"""Test cases in YAML: calls with the expected verdicts, compared with the actual ones.

Members of ``expect``, of which only the given ones are compared: ``decision`` (``none``: the policy does not decide),
``reason``, ``messages``, ``risk_level``, ``policy`` (the file's name without its extension), ``rules``, ``error``
(true: it failed, and so denies) and ``approval``.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from headgate.configuration.yaml_document import Section, parse_value
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.policies.model import Decision, PolicyVerdict, Requirement
from headgate.policies.suites.model import Case
from headgate.policies.terms import ApprovalTerms

_EXPECTED: Final = ("decision", "reason", "messages", "risk_level", "policy", "rules", "error", "approval")
_DEFAULT_INPUT: Final[JsonObject] = {
    "effect": None,
    "source": "api",
    "params": {},
    "context": {},
    "delegation": {},
    "agent": {"id": "agt_00000000-0000-7000-8000-000000000000", "name": "test"},
}


def parse_cases(text: str, *, file: str) -> list[Case]:
    """A list of cases. Raises ValidationError, which names the case and the member."""
    return cases_of(parse_value(text, where=file), file=file)


def cases_of(value: JsonValue, *, file: str) -> list[Case]:
    """Parses cases from a document that is already loaded."""
    if not isinstance(value, list):
        raise ValidationError(f"{file}: a list of cases is required")
    cases: list[Case] = []
    for position, one in enumerate(value):
        if not isinstance(one, dict):
            raise ValidationError(f"{file}[{position}]: a mapping is required")
        cases.append(_case(Section(f"{file}[{position}]", one), file))
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise ValidationError(f"{file}: two cases are called {name!r}")
    return cases


def _case(section: Section, file: str) -> Case:
    section.only("name", "input", "expect", "record", "now", "data")
    name = section.text("name")
    if ("expect" in section.members) == ("record" in section.members):
        raise section.fail("expect", "either expect or record says what is expected")
    expect = section.section("expect")
    expect.only(*_EXPECTED)
    given = section.section("input")
    for required in ("tool", "operation"):
        given.text(required)
    record = section.section("record").members if "record" in section.members else None
    return Case(
        file=file,
        name=name,
        input={**_DEFAULT_INPUT, **given.members},
        expect=expect.members,
        record=record,
        now=_instant(section) if "now" in section.members else None,
        data=section.section("data").members if "data" in section.members else None,
    )


def _instant(section: Section) -> datetime:
    try:
        parsed = datetime.fromisoformat(section.text("now"))
    except ValueError as error:
        raise section.fail("now", "an ISO 8601 date-time in quotes is required") from error
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


def differences_of_verdict(case: Case, verdict: PolicyVerdict, rules: Sequence[str]) -> list[str]:
    """The differences of one policy's verdict from the expectation; empty: none."""
    terms = verdict.terms
    said: list[JsonValue] = [*verdict.messages]
    rules_said: list[JsonValue] = [*rules]
    found: JsonObject = {
        "decision": "none" if verdict.verdict is None else verdict.verdict.value,
        "reason": verdict.explanation(),
        "messages": said,
        "risk_level": None if verdict.risk_level is None else verdict.risk_level.value,
        "rules": rules_said,
        "error": verdict.error is not None,
        "approval": _terms([terms], terms.hold_seconds, terms.expires_in_seconds, terms.escalate_after_seconds)
        | {"remind_after_seconds": terms.remind_after_seconds},
    }
    return _differences(case.expect, found)


def differences_of_decision(case: Case, decision: Decision) -> list[str]:
    """The differences of the combined decision from the expectation; empty: none. Evaluation time is not compared."""
    if case.record is not None:
        expected = {name: value for name, value in case.record.items() if name != "evaluation_time_ms"}
        record = {name: value for name, value in decision.record().items() if name != "evaluation_time_ms"}
        return _differences(expected, record) + [
            f"{name} is {_shown(record[name])}, and the record expects none" for name in record if name not in expected
        ]
    spoken = [one for one in decision.spoken if one.verdict is decision.verdict]
    messages: list[JsonValue] = [message for one in spoken for message in one.messages]
    found: JsonObject = {
        "decision": decision.verdict.value,
        "reason": decision.reason,
        "messages": messages,
        "risk_level": decision.risk_level.value,
        "policy": decision.policy_id,
        "error": any(one.error is not None for one in spoken),
        "approval": _approval(decision),
    }
    if "rules" in case.expect:
        return ["rules are those of one policy: expect them in the cases beside it"]
    return _differences(case.expect, found)


def _approval(decision: Decision) -> JsonObject:
    times = decision.hold_seconds, decision.expires_in_seconds, decision.escalate_after_seconds
    return _terms(decision.requirements, *times) | {"remind_after_seconds": decision.remind_after_seconds}


def _terms(
    demands: Sequence[ApprovalTerms | Requirement],
    hold_seconds: float | None,
    expires_in_seconds: int | None,
    escalate_after_seconds: int | None,
) -> JsonObject:
    """The combined requirements, in the form of a case."""
    roles: dict[str, int] = {}
    for slot in (slot for one in demands for slot in one.roles):
        roles[slot.group] = max(roles.get(slot.group, 0), slot.count)
    counts: JsonObject = {**roles}
    assignees: list[JsonValue] = [*sorted({user for one in demands for user in one.assignees})]
    escalate_to: list[JsonValue] = [*sorted({user for one in demands for user in one.escalate_to})]
    duties: list[JsonValue] = [*sorted({duty.value for one in demands for duty in one.separation_of_duties})]
    return {
        "required_approvals": max((one.required_approvals for one in demands), default=1),
        "denials_required": min((one.denials_required for one in demands), default=1),
        "assignees": assignees,
        "roles": counts,
        "separation_of_duties": duties,
        "escalate_to": escalate_to,
        "hold_seconds": hold_seconds,
        "expires_in_seconds": expires_in_seconds,
        "escalate_after_seconds": escalate_after_seconds,
    }


def _differences(expected: JsonObject, found: JsonObject) -> list[str]:
    differences: list[str] = []
    for name, value in expected.items():
        actual = found.get(name)
        if isinstance(value, dict) and isinstance(actual, dict):
            differences += [f"{name}.{one}" for one in _differences(value, actual)]
        elif value != actual:
            differences.append(f"{name} is {_shown(actual)}, expected {_shown(value)}")
    return differences


def _shown(value: JsonValue) -> str:
    return repr(value)[:300]
