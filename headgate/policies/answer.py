"""Parses the answer of a policy's evaluation into a PolicyVerdict.

The answer is one JSON object with those of ``deny``, ``require_approval``, ``allow``, ``reason``, ``risk_level``,
``approval`` and ``capture`` that the policy's package defines for this call. An empty set or list, false and an absent
member decide nothing. Any other type is an error in the policy; the policy then denies and names the error
(semantics.md, "Combining and voting"). ``allow := "yes"`` must count neither as true nor as absent.
"""

import json
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.answer_values import AnswerError, describe
from headgate.policies.model import PolicyVerdict, RiskLevel, RulePolicy, Verdict
from headgate.policies.terms import DEFAULT_TERMS, parse_terms
from headgate.traffic.model import CaptureLevel

_MESSAGE_MAX_CHARACTERS: Final = 2_000
_MESSAGES_MAX: Final = 100
_RISK_LEVELS: Final = {level.value: level for level in RiskLevel}
_CAPTURE_LEVELS: Final = {level.value: level for level in CaptureLevel}


def verdict_of(policy: RulePolicy, answer: bytes) -> PolicyVerdict:
    """Parses the answer. A malformed answer is a deny with ``error`` set; the content never raises."""
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
    """A policy that fails denies, with the failure as its reason."""
    # The policy might have marked the call as one not to capture.
    return PolicyVerdict(
        policy.policy_id, policy.version, policy.priority, Verdict.DENY, error=error, capture=CaptureLevel.OFF
    )


def _parse(policy: RulePolicy, document: JsonObject) -> PolicyVerdict:
    # Check all three verdicts before using any: an error in one may hide a deny.
    denied, deny_messages = _rule("deny", document.get("deny", False))
    asked, ask_messages = _rule("require_approval", document.get("require_approval", False))
    allowed = document.get("allow", False)
    if not isinstance(allowed, bool):
        raise AnswerError(f"allow must be true or false, not {describe(allowed)}")
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
    terms = parse_terms(document["approval"]) if "approval" in document else DEFAULT_TERMS
    capture = _capture(document["capture"]) if "capture" in document else None
    return PolicyVerdict(
        policy.policy_id,
        policy.version,
        policy.priority,
        verdict,
        messages,
        reason or None,
        risk_level,
        terms,
        capture=capture,
    )


def _rule(name: str, value: JsonValue) -> tuple[bool, tuple[str, ...]]:
    if isinstance(value, bool):
        return value, ()
    if not isinstance(value, list):
        hint = f"; write `{name} contains message if …`" if isinstance(value, dict) else ""
        raise AnswerError(f"{name} must be a boolean or a set or list of messages, not {describe(value)}{hint}")
    if len(value) > _MESSAGES_MAX:
        raise AnswerError(f"{name} has {len(value)} messages; at most {_MESSAGES_MAX} are kept")
    return bool(value), tuple(_text(f"a message of {name}", item) for item in value)


def _text(name: str, value: JsonValue) -> str:
    if not isinstance(value, str):
        raise AnswerError(f"{name} must be a string, not {describe(value)}")
    if len(value) > _MESSAGE_MAX_CHARACTERS:
        return value[: _MESSAGE_MAX_CHARACTERS - 1] + "…"
    return value


def _risk_level(value: JsonValue) -> RiskLevel:
    if not isinstance(value, str) or value not in _RISK_LEVELS:
        shown = f'"{value[:40]}"' if isinstance(value, str) else describe(value)
        raise AnswerError(f"risk_level must be one of {', '.join(_RISK_LEVELS)}, not {shown}")
    return _RISK_LEVELS[value]


def _capture(value: JsonValue) -> CaptureLevel:
    if not isinstance(value, str) or value not in _CAPTURE_LEVELS:
        shown = f'"{value[:40]}"' if isinstance(value, str) else describe(value)
        raise AnswerError(f"capture must be one of {', '.join(_CAPTURE_LEVELS)}, not {shown}")
    return _CAPTURE_LEVELS[value]
