"""Runs a suite: each policy's Rego tests and cases, the cases of all policies, and the coverage of rules."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from time import perf_counter_ns
from typing import Final

import regorus
from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import HeadgateError, ValidationError
from headgate.policies.compile import CompiledPolicy, PolicyRefusedError, compile_policy
from headgate.policies.decision_rules import SKIPPED_TEST_PREFIX, TEST_PREFIX
from headgate.policies.evaluate import PolicySet
from headgate.policies.explain import RawAnswer, ask, interpret_answer, rule_values
from headgate.policies.model import RulePolicy
from headgate.policies.suites.cases import differences_of_decision, differences_of_verdict
from headgate.policies.suites.model import (
    Case,
    Coverage,
    Outcome,
    Suite,
    SuitePolicy,
    SuiteReport,
    TestResult,
)
from headgate.policies.suites.reached import rules_reached_by
from headgate.policies.suites.rego_tests import merge

_ASKED: Final = ("deny", "require_approval", "allow", "reason", "risk_level", "approval", "capture")
_AT_TIME: Final = "headgate_case_"
_EMPTY: Final = b"{}"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def run_suite(suite: Suite) -> SuiteReport:
    """Never raises for the suite's content: a test that cannot run is a result that says so."""
    runs = [_PolicyRun(suite, policy) for policy in suite.policies]
    results = [result for run in runs for result in run.results()]
    together = {policy.key for policy in suite.together}
    for case in suite.cases:
        results.append(_run_together(suite, case))
        for run in runs:
            if run.key in together:
                run.reach(case)
    return SuiteReport(results, [one for run in runs for one in run.coverage()])


def as_rule_policy(policy: SuitePolicy) -> RulePolicy:
    """A policy of a folder in the engine's form: its key is its id, and its version is 1."""
    return RulePolicy(
        policy_id=policy.key,
        version=1,
        name=policy.name,
        description=policy.description,
        rego_policy=policy.text,
        enabled=policy.enabled,
        priority=policy.priority,
        quarantine=None,
        created_at=_EPOCH,
        updated_at=_EPOCH,
        mode=policy.mode,
    )


def suite_data(suite: Suite, case: Case | None = None) -> bytes:
    """``data``, with an empty allowlist where the suite has none."""
    return canonical_bytes({"allowlist": {}, **suite.data, **((case.data if case else None) or {})})


class _Timer(Struct):
    started: int

    def ms(self) -> float:
        return round((perf_counter_ns() - self.started) / 1_000_000, 3)


class _PolicyRun:
    """One policy with its own tests and cases."""

    def __init__(self, suite: Suite, policy: SuitePolicy) -> None:
        self._suite = suite
        self._policy = policy
        self._compiled: CompiledPolicy | None = None
        self._held: set[str] = set()

    def results(self) -> Iterator[TestResult]:
        try:
            self._compiled = compile_policy(self._policy.text, suite_data(self._suite), self._suite.modules)
        except ValidationError as error:
            message = error.message.replace("policy.rego", self._policy.file)
            yield TestResult(self._policy.key, self._policy.file, "compiles", Outcome.ERROR, 0.0, message)
            return
        yield from self._rego_tests()
        for case in self._policy.cases:
            yield self._case(case)

    @property
    def key(self) -> str:
        return self._policy.key

    def reach(self, case: Case) -> None:
        """Counts the rules that hold in a case of all policies together."""
        if self._compiled is not None:
            self._held |= _holding(self._compiled.engine, regorus.Input(canonical_bytes(case.input)))

    def coverage(self) -> Iterator[Coverage]:
        if self._compiled is None:
            return
        rules = [one for one in self._compiled.engine.rules if not one.startswith((TEST_PREFIX, SKIPPED_TEST_PREFIX))]
        uncovered = tuple(one for one in rules if _first_part(one) not in self._held)
        yield Coverage(self._policy.key, len(rules), uncovered)

    def _rego_tests(self) -> Iterator[TestResult]:
        policy = self._policy
        file = policy.tests[0].file if policy.tests else policy.file
        try:
            merged = merge(policy.file, policy.text, policy.tests)
        except ValidationError as error:
            yield TestResult(policy.key, file, "compiles", Outcome.ERROR, 0.0, error.message)
            return
        try:
            compiled = compile_policy(merged.text, suite_data(self._suite), self._suite.modules)
        except PolicyRefusedError as error:
            yield TestResult(policy.key, file, "compiles", Outcome.ERROR, 0.0, merged.told(error))
            return
        engine = compiled.engine
        document = regorus.Input(_EMPTY)
        passed: list[str] = []
        for rule in engine.rules:
            if rule.startswith(SKIPPED_TEST_PREFIX):
                yield TestResult(policy.key, policy.file, rule, Outcome.SKIPPED, 0.0, "named as one to be written")
            elif rule.startswith(TEST_PREFIX):
                timer = _Timer(perf_counter_ns())
                outcome, reason = _run_rego_test(engine, rule, document)
                if outcome is Outcome.PASSED:
                    passed.append(rule)
                yield TestResult(
                    policy.key,
                    policy.file,
                    rule,
                    outcome,
                    timer.ms(),
                    None if reason is None else merged.in_files(reason),
                )
        self._held |= rules_reached_by(engine.ast(), merged.text, passed)

    def _case(self, case: Case) -> TestResult:
        timer, policy = _Timer(perf_counter_ns()), self._policy
        try:
            raw, held = self._ask(case)
        except HeadgateError as error:
            return TestResult(policy.key, case.file, case.name, Outcome.ERROR, timer.ms(), error.message)
        self._held |= held
        if case.record is not None:
            wrong = "record is what all policies together decide: write it into cases/, or expect"
            return TestResult(policy.key, case.file, case.name, Outcome.ERROR, timer.ms(), wrong)
        verdict, rules = interpret_answer(as_rule_policy(policy), raw)
        differences = differences_of_verdict(case, verdict, rules)
        outcome = Outcome.FAILED if differences else Outcome.PASSED
        return TestResult(policy.key, case.file, case.name, outcome, timer.ms(), "; ".join(differences) or None)

    def _ask(self, case: Case) -> tuple[RawAnswer, set[str]]:
        document = regorus.Input(canonical_bytes(case.input))
        if case.now is None:
            engine = compile_policy(self._policy.text, suite_data(self._suite, case), self._suite.modules).engine
            raw = ask(engine, document)
        else:
            engine = self._at(case, case.now)
            raw = _ask_at(engine, document)
            held = _holding(engine, document)
            return raw, {name.removeprefix(_AT_TIME) for name in held if name.startswith(_AT_TIME)}
        return raw, _holding(engine, document)

    def _at(self, case: Case, now: datetime) -> regorus.Policy:
        """The policy with its clock fixed at ``now``."""
        assert self._compiled is not None  # noqa: S101 - results() compiles before it asks
        nanoseconds = int((now - _EPOCH).total_seconds() * 1_000_000) * 1_000
        names = sorted({_first_part(one) for one in self._compiled.engine.rules})
        rules = "".join(
            f"\n{_AT_TIME}{name} := value if {{ value := {name} with time.now_ns as {nanoseconds} }}\n"
            for name in names
        )
        return compile_policy(
            self._policy.text + "\n" + rules, suite_data(self._suite, case), self._suite.modules
        ).engine


def _first_part(rule: str) -> str:
    """``limits`` of ``limits.hard`` and ``limits["hard"]``: the name that other rules use."""
    return rule.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0]


def _holding(engine: regorus.Policy, document: regorus.Input) -> set[str]:
    """The rules that are not undefined, false or empty, by the first part of their names."""
    return {
        _first_part(one.rule)
        for one in rule_values(engine, document)
        if one.is_defined and one.value not in (False, [], {})
    }


def _run_rego_test(engine: regorus.Policy, rule: str, document: regorus.Input) -> tuple[Outcome, str | None]:
    try:
        answer = engine.query(rule, document)
    except regorus.EvaluationError as error:
        return Outcome.ERROR, error.reason
    if answer == b"true":
        return Outcome.PASSED, None
    return Outcome.FAILED, f"{rule} is {answer.decode() or 'undefined'}, not true"


def _ask_at(engine: regorus.Policy, document: regorus.Input) -> RawAnswer:
    """The answer of ``decide``, from the rules for this moment."""
    members: JsonObject = {}
    for name in _ASKED:
        rule = f"{_AT_TIME}{name}"
        if rule not in engine.rules:
            continue
        if name not in _ASKED[:3] and not any(members.get(one) not in (None, False, []) for one in _ASKED[:3]):
            continue
        try:
            answer = engine.query(rule, document)
        except regorus.EvaluationError as error:
            return RawAnswer(_EMPTY, error.reason)
        if answer:
            value: JsonValue = json.loads(answer)
            members[name] = value
    return RawAnswer(canonical_bytes(members), None)


def _run_together(suite: Suite, case: Case) -> TestResult:
    timer = _Timer(perf_counter_ns())
    if case.now is not None:
        message = "now is for the cases beside one policy"
        return TestResult("", case.file, case.name, Outcome.ERROR, timer.ms(), message)
    policies = [as_rule_policy(one) for one in suite.together]
    http = case.input.get("http")
    call = http if isinstance(http, dict) else {}
    host, method = call.get("host"), call.get("method")
    try:
        decision = PolicySet(policies, suite_data(suite, case), libraries=suite.modules).decide(
            canonical_bytes(case.input),
            tool=str(case.input["tool"]),
            operation=str(case.input["operation"]),
            host=host if isinstance(host, str) else None,
            method=method if isinstance(method, str) else None,
        )
    except HeadgateError as error:
        return TestResult("", case.file, case.name, Outcome.ERROR, timer.ms(), error.message)
    differences = differences_of_decision(case, decision)
    outcome = Outcome.FAILED if differences else Outcome.PASSED
    return TestResult("", case.file, case.name, outcome, timer.ms(), "; ".join(differences) or None)
