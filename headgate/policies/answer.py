"""What a policy's evaluation answered, parsed at the edge into a PolicyVerdict.

The answer is one JSON object with those of ``deny``, ``require_approval``, ``allow``, ``reason``,
``risk_level`` and ``approval`` that the policy's package defines for this call. An empty set or list, false
and an absent member say nothing. Anything of another type is a mistake in the policy and denies, saying
which (semantics.md, "Combining and voting"): ``allow := "yes"`` must not pass for true, nor be taken for silence.
"""

import json
from collections.abc import Callable
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.model import DEFAULT_TERMS, ApprovalTerms, PolicyVerdict, RiskLevel, RulePolicy, Verdict

_MESSAGE_MAX_CHARACTERS: Final = 2_000
_MESSAGES_MAX: Final = 100
_APPROVALS_MAX: Final = 100
_ASSIGNEES_MAX: Final = 100
_HOLD_MAX_SECONDS: Final = 86_400
_EXPIRY_MAX_SECONDS: Final = 366 * 86_400
_RISK_LEVELS: Final = {level.value: level for level in RiskLevel}


class AnswerError(Exception):
    """A policy's answer has a member of the wrong type or out of its range; the message names it."""


def verdict_of(policy: RulePolicy, answer: bytes) -> PolicyVerdict:
    """What the policy said. A malformed answer is a deny with ``error`` set; never raises for content."""
    if answer == b"{}":
        return PolicyVerdict(policy.policy_id, policy.version, policy.priority, None)
    try:
        document = json.loads(answer)
    except ValueError as error:
        return failed(policy, f"the policy's answer is not JSON: {error}")
    if not isinstance(document, dict):
        return failed(policy, "the policy's answer is not an object")
    try:
        return _parse(policy, document)
    except AnswerError as error:
        return failed(policy, f"the policy's answer is malformed: {error}")


def failed(policy: RulePolicy, error: str) -> PolicyVerdict:
    """A policy that could not say anything denies, and says why."""
    return PolicyVerdict(policy.policy_id, policy.version, policy.priority, Verdict.DENY, error=error)


def _parse(policy: RulePolicy, document: JsonObject) -> PolicyVerdict:
    # All three verdicts are checked before any counts: a mistake in one may be what hides a deny.
    denied, deny_messages = _rule("deny", document.get("deny", False))
    asked, ask_messages = _rule("require_approval", document.get("require_approval", False))
    allowed = document.get("allow", False)
    if not isinstance(allowed, bool):
        raise AnswerError(f"allow must be true or false, not {_describe(allowed)}")
    messages: tuple[str, ...] = ()
    if denied:
        verdict, messages = Verdict.DENY, deny_messages
    elif asked:
        verdict, messages = Verdict.REQUIRE_APPROVAL, ask_messages
    elif allowed:
        verdict = Verdict.ALLOW
    else:
        return PolicyVerdict(policy.policy_id, policy.version, policy.priority, None)
    reason = _text("reason", document["reason"]) if "reason" in document else None
    risk_level = _risk_level(document["risk_level"]) if "risk_level" in document else None
    terms = _terms(document["approval"]) if "approval" in document else DEFAULT_TERMS
    return PolicyVerdict(
        policy.policy_id, policy.version, policy.priority, verdict, messages, reason or None, risk_level, terms
    )


def _rule(name: str, value: JsonValue) -> tuple[bool, tuple[str, ...]]:
    if isinstance(value, bool):
        return value, ()
    if not isinstance(value, list):
        hint = f"; write `{name} contains message if …`" if isinstance(value, dict) else ""
        raise AnswerError(f"{name} must be a boolean or a set or list of messages, not {_describe(value)}{hint}")
    if len(value) > _MESSAGES_MAX:
        raise AnswerError(f"{name} has {len(value)} messages; at most {_MESSAGES_MAX} are kept")
    return bool(value), tuple(_text(f"a message of {name}", item) for item in value)


def _text(name: str, value: JsonValue) -> str:
    if not isinstance(value, str):
        raise AnswerError(f"{name} must be a string, not {_describe(value)}")
    if len(value) > _MESSAGE_MAX_CHARACTERS:
        return value[: _MESSAGE_MAX_CHARACTERS - 1] + "…"
    return value


def _risk_level(value: JsonValue) -> RiskLevel:
    if not isinstance(value, str) or value not in _RISK_LEVELS:
        shown = f'"{value[:40]}"' if isinstance(value, str) else _describe(value)
        raise AnswerError(f"risk_level must be one of {', '.join(_RISK_LEVELS)}, not {shown}")
    return _RISK_LEVELS[value]


def _terms(value: JsonValue) -> ApprovalTerms:
    if not isinstance(value, dict):
        raise AnswerError(f"approval must be an object, not {_describe(value)}")
    if unknown := sorted(set(value) - _TERMS.keys()):
        raise AnswerError(f"approval has no member {unknown[0][:40]!r}; it has {', '.join(_TERMS)}")
    for name, check in _TERMS.items():
        if name in value:
            check(f"approval.{name}", value[name])
    assignees = _assignees("approval.assignees", value.get("assignees", []))
    required = _whole(value.get("required_approvals", 1))
    if assignees and required > len(assignees):
        raise AnswerError(
            f"approval.required_approvals is {required}, and only {len(assignees)} assignees could give one"
        )
    hold = value.get("hold_seconds")
    return ApprovalTerms(
        required_approvals=required,
        assignees=assignees,
        hold_seconds=float(hold) if isinstance(hold, int | float) else None,
        expires_in_seconds=_whole(value["expires_in_seconds"]) if "expires_in_seconds" in value else None,
        escalate_after_seconds=_whole(value["escalate_after_seconds"]) if "escalate_after_seconds" in value else None,
    )


def _whole(value: JsonValue) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _integer(name: str, value: JsonValue, most: int) -> None:
    # Rego has one type of number: 2.0 is 2 there, and here.
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or not 1 <= value <= most:
        raise AnswerError(f"{name} must be a whole number from 1 to {most}, not {_describe(value)}")


def _duration(name: str, value: JsonValue) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _HOLD_MAX_SECONDS:
        raise AnswerError(f"{name} must be a number of seconds from 0 to {_HOLD_MAX_SECONDS}, not {_describe(value)}")


def _assignees(name: str, value: JsonValue) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _ASSIGNEES_MAX:
        raise AnswerError(f"{name} must be a set or list of at most {_ASSIGNEES_MAX} users, not {_describe(value)}")
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise AnswerError(f"{name} must name users by id or e-mail address, not {_describe(item)}")
    return tuple(sorted({item for item in value if isinstance(item, str)}))


_TERMS: Final[dict[str, Callable[[str, JsonValue], object]]] = {
    "required_approvals": lambda name, value: _integer(name, value, _APPROVALS_MAX),
    "expires_in_seconds": lambda name, value: _integer(name, value, _EXPIRY_MAX_SECONDS),
    "hold_seconds": _duration,
    "assignees": _assignees,
    "escalate_after_seconds": lambda name, value: _integer(name, value, _EXPIRY_MAX_SECONDS),
}


def _describe(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return str(value)[:40]
        case str():
            return "a string"
        case list():
            return f"a set or list of {len(value)}"
        case dict():
            return "an object"
