"""Explains the verdict of every policy on one call, and the rules behind it: for people, never on a call's path."""

import json
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Final

import regorus
from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.policies.answer import failed, verdict_of
from headgate.policies.compile import Libraries, compile_policy
from headgate.policies.marker import Marker, mark_of
from headgate.policies.model import PolicyVerdict, RulePolicy, Verdict

_VALUE_MAX_BYTES: Final = 4_096
_SPEAKING: Final = tuple(verdict.value for verdict in (Verdict.DENY, Verdict.REQUIRE_APPROVAL, Verdict.ALLOW))


class RuleValue(Struct, frozen=True):
    """One rule for one call: its value, undefined, or the failure."""

    rule: str
    is_defined: bool
    value: JsonValue
    error: str | None

    def record(self) -> JsonObject:
        found: JsonObject = {"rule": self.rule, "defined": self.is_defined}
        if self.is_defined:
            found["value"] = self.value
        if self.error is not None:
            found["error"] = self.error
        return found


class Explanation(Struct, frozen=True):
    """One policy's verdict on one call. ``rules``: the rules of deny, require_approval and allow that decided;
    ``trace``: every rule of its package, on request."""

    policy: RulePolicy
    verdict: PolicyVerdict
    rules: tuple[str, ...]
    trace: tuple[RuleValue, ...]
    time_ms: float


def explain_all(
    policies: Sequence[RulePolicy],
    data: bytes,
    libraries: Libraries,
    input_bytes: bytes,
    *,
    trace: bool,
    marker: Marker | None = None,
) -> list[Explanation]:
    """Returns the explanations in the order of evaluation. Raises ValidationError if the input is not a call."""
    document = parse_input(input_bytes)
    return [_explain(policy, data, libraries, document, trace=trace, marker=marker) for policy in policies]


def parse_input(input_bytes: bytes) -> regorus.Input:
    try:
        return regorus.Input(input_bytes)
    except regorus.JsonError as error:
        raise ValidationError(f"the call cannot be described to the policies: {error}") from error


def _explain(
    policy: RulePolicy,
    data: bytes,
    libraries: Libraries,
    document: regorus.Input,
    *,
    trace: bool,
    marker: Marker | None,
) -> Explanation:
    started = perf_counter_ns()
    if policy.quarantine is not None:
        verdict = failed(policy, f'policy "{policy.name}" is quarantined: {policy.quarantine}')
        return Explanation(policy, verdict, (), (), 0.0)
    try:
        engine = compile_policy(policy.rego_policy, data, libraries).engine
    except ValidationError as error:
        verdict = failed(policy, f'policy "{policy.name}" cannot be used: {error.message}')
        return Explanation(policy, verdict, (), (), 0.0)
    try:
        if marker is not None:
            marker.begin(mark_of(policy.org_id, policy.policy_id, policy.version))
        answer = ask(engine, document)
        time_ms = round((perf_counter_ns() - started) / 1_000_000, 3)
        values = tuple(rule_values(engine, document)) if trace else ()
    finally:
        if marker is not None:
            marker.end()
    verdict, rules = interpret_answer(policy, answer)
    return Explanation(policy, verdict, rules, values, time_ms)


class RawAnswer(Struct, frozen=True):
    """The engine's answer, or the reason for its absence."""

    answer: bytes
    error: str | None


def ask(engine: regorus.Policy, document: regorus.Input) -> RawAnswer:
    try:
        return RawAnswer(engine.decide(document), None)
    except regorus.EvaluationError as error:
        return RawAnswer(b"{}", error.reason)


def interpret_answer(policy: RulePolicy, raw: RawAnswer) -> tuple[PolicyVerdict, tuple[str, ...]]:
    """The verdict, read as on the live path, and the rules that produce it."""
    if raw.error is not None:
        return failed(policy, f'policy "{policy.name}" failed, and so denies: {raw.error}'), ()
    verdict = verdict_of(policy, raw.answer)
    members = json.loads(raw.answer)
    return verdict, tuple(name for name in _SPEAKING if members.get(name) not in (None, False, []))


def rule_values(engine: regorus.Policy, document: regorus.Input) -> list[RuleValue]:
    """Evaluates every rule of the policy's own package by itself."""
    return [_value(engine, rule, document) for rule in engine.rules]


def _value(engine: regorus.Policy, rule: str, document: regorus.Input) -> RuleValue:
    try:
        answer = engine.query(rule, document)
    except regorus.EvaluationError as error:
        return RuleValue(rule, False, None, error.reason)
    if not answer:
        return RuleValue(rule, False, None, None)
    if len(answer) > _VALUE_MAX_BYTES:
        return RuleValue(rule, True, f"{len(answer)} bytes of JSON: too long to show", None)
    return RuleValue(rule, True, json.loads(answer), None)
