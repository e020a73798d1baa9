"""Decides one call in memory, without waiting: this is on the path of every request."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

import regorus

from headgate.kernel.errors import ValidationError
from headgate.kernel.stopwatch import Stopwatch
from headgate.policies.answer import failed, verdict_of
from headgate.policies.combine import decide_priority
from headgate.policies.compile import CompiledPolicy, Libraries, compile_policy
from headgate.policies.formula import TRUE, CallKey, Formula
from headgate.policies.index import PolicyIndex
from headgate.policies.marker import Marker, mark_of
from headgate.policies.model import Decision, PolicyMode, PolicyVerdict, RiskLevel, RulePolicy, Verdict
from headgate.policies.params_use import ParamsUse

DECISION_MILLISECONDS_MAX: Final = 50
"""CPU time for all policies evaluated for one call. One policy has the same limit
(``compile.TIME_LIMIT_MILLISECONDS``), so a decision ends after at most twice that time."""
_SLOWEST_NAMED_MAX: Final = 3
_REMEMBERED_ANSWERS_MAX: Final = 64
_REMEMBERED_ANSWER_MAX_BYTES: Final = 512
_FIXED: Final = ParamsUse(denials_ignore=True, all_ignores=True)


class _Entry:
    """A policy ready for evaluation: its engine, or a fixed verdict for a policy that must not run."""

    __slots__ = ("_answers", "_decide", "_mark", "compiled", "fixed", "policy")

    def __init__(self, policy: RulePolicy, compiled: CompiledPolicy | None, fixed: PolicyVerdict | None) -> None:
        self.policy = policy
        self.compiled = compiled
        self.fixed = fixed
        self._decide = compiled.engine.decide if compiled is not None else None
        self._mark = mark_of(policy.org_id, policy.policy_id, policy.version)
        self._answers: dict[bytes, PolicyVerdict] = {}

    @property
    def condition(self) -> Formula:
        return TRUE if self.compiled is None else self.compiled.conditions.concerns

    @property
    def params_use(self) -> ParamsUse:
        """A fixed verdict is the same for every call."""
        return _FIXED if self.compiled is None else self.compiled.params_use

    def ask(self, document: regorus.Input, marker: Marker | None) -> PolicyVerdict:
        if self._decide is None:
            return self.fixed or failed(self.policy, "the policy is not loaded")
        if marker is not None:
            marker.begin(self._mark)
        try:
            answer = self._decide(document)
        except regorus.EvaluationError as error:
            return failed(self.policy, f'policy "{self.policy.name}" failed, and so denies: {error.reason}')
        except Exception as error:  # noqa: BLE001 - whatever the engine raises is a deny that says so (promise 1)
            return failed(self.policy, f'policy "{self.policy.name}" failed, and so denies: {error}')
        finally:
            if marker is not None:
                marker.end()
        return self._answers.get(answer) or self._verdict(answer)

    def _verdict(self, answer: bytes) -> PolicyVerdict:
        # Most answers repeat; the cache is bounded, because agents could vary some of them at will.
        verdict = verdict_of(self.policy, answer)
        if len(self._answers) < _REMEMBERED_ANSWERS_MAX and len(answer) <= _REMEMBERED_ANSWER_MAX_BYTES:
            self._answers[answer] = verdict
        return verdict


class PolicySet:
    """The enabled, enforced policies of one organization with its data and shared modules, immutable.

    A policy that fails to compile, or is quarantined, denies with a reason when its priority decides. ``marker``
    records the running policy so that it survives a crash of this process (``headgate.policies.marker``).
    """

    def __init__(
        self,
        policies: Sequence[RulePolicy],
        data: bytes,
        *,
        libraries: Libraries = (),
        marker: Marker | None = None,
    ) -> None:
        deciding = (one for one in policies if one.enabled and one.mode is PolicyMode.ENFORCE)
        ordered = sorted(deciding, key=lambda one: (one.priority, one.policy_id))
        entries = [_entry(policy, data, libraries, marker) for policy in ordered]
        groups = [list(group) for _, group in groupby(entries, key=lambda entry: entry.policy.priority)]
        self._index = PolicyIndex(groups, lambda entry: entry.condition)
        self._everyone = tuple(tuple(group) for group in groups)
        self._marker = marker
        self.policies = tuple(ordered)

    def decide(
        self,
        input_bytes: bytes,
        *,
        tool: str,
        operation: str,
        host: str | None,
        method: str | None,
        watch: Stopwatch | None = None,
        marker: Marker | None = None,
    ) -> Decision:
        """The decision about the call that ``input_bytes`` (JSON) describes; never raises for its content.

        The named members must equal those of the input: ``tool``, ``operation``, ``http.host``, ``http.method`` (None:
        absent). They select the policies to evaluate. ``marker``: the calling thread's own, if it is not the set's
        thread.
        """
        groups = self._index.candidates(CallKey(tool, operation, host, method))
        return self._decide(input_bytes, groups, watch or Stopwatch(), marker or self._marker)

    def denial_of_kind(
        self,
        input_bytes: bytes,
        *,
        tool: str,
        operation: str,
        host: str | None,
        method: str | None,
        marker: Marker | None = None,
    ) -> Decision | None:
        """The denial of every call like this one, whatever its params are; None where one might not be denied.

        Where ``deny`` of a policy reads params, the policy is not asked: it may say anything, so that only a denial of
        its own priority or of an earlier one is certain. Parameters as for ``decide``.
        """
        try:
            document = regorus.Input(input_bytes)
        except regorus.JsonError:
            return None
        marker = marker or self._marker
        for group in self._index.candidates(CallKey(tool, operation, host, method)):
            denials, is_open = [], False
            for entry in group:
                if not entry.params_use.denials_ignore:
                    is_open = True
                    continue
                verdict = entry.ask(document, marker)
                # Whatever another rule of the policy says or fails with, a deny stays one.
                if verdict.verdict is Verdict.DENY and (verdict.error is None or entry.params_use.all_ignores):
                    denials.append(verdict)
                is_open = is_open or verdict.verdict is not None or not entry.params_use.all_ignores
            if denials:
                return decide_priority(denials)
            if is_open:
                return None
        return decide_priority(())

    def concerned(self, *, tool: str, operation: str, host: str | None, method: str | None) -> tuple[RulePolicy, ...]:
        """The policies that the index selects for such a call, in the order of evaluation."""
        groups = self._index.candidates(CallKey(tool, operation, host, method))
        return tuple(entry.policy for group in groups for entry in group)

    def decide_asking_all(self, input_bytes: bytes) -> Decision:
        """Decides without the index; the tests compare the index with it."""
        return self._decide(input_bytes, self._everyone, Stopwatch(), self._marker)

    def _decide(
        self, input_bytes: bytes, groups: tuple[tuple[_Entry, ...], ...], watch: Stopwatch, marker: Marker | None
    ) -> Decision:
        try:
            document = regorus.Input(input_bytes)
        except regorus.JsonError as error:
            reason = f"the call cannot be described to the policies: {error}"
            return Decision(Verdict.DENY, reason, RiskLevel.HIGH, None, watch.wall_milliseconds())
        took: list[tuple[float, _Entry]] = []
        # The policies do not pay for the parsing of a large input.
        began = before = watch.processor_milliseconds()
        for group in groups:
            spoken: list[PolicyVerdict] = []
            for entry in group:
                verdict = entry.ask(document, marker)
                now = watch.processor_milliseconds()
                took.append((now - before, entry))
                before = now
                is_over = now - began > DECISION_MILLISECONDS_MAX
                if is_over and verdict.verdict is not Verdict.DENY:
                    # The limit was reached: a policy that did not run might have denied.
                    verdict = failed(entry.policy, _too_slow(took))
                if verdict.verdict is not None:
                    spoken.append(verdict)
                if is_over:
                    break
            if spoken:
                return decide_priority(spoken, watch.wall_milliseconds())
        return decide_priority((), watch.wall_milliseconds())


def _too_slow(took: Sequence[tuple[float, _Entry]]) -> str:
    slowest = sorted(took, key=lambda one: one[0], reverse=True)[:_SLOWEST_NAMED_MAX]
    named = ", ".join(f'"{entry.policy.name}" {milliseconds:.0f} ms' for milliseconds, entry in slowest)
    return (
        f"the policies about this call took longer than {DECISION_MILLISECONDS_MAX} ms together, and so deny"
        f" (slowest: {named})"
    )


def _entry(policy: RulePolicy, data: bytes, libraries: Libraries, marker: Marker | None) -> _Entry:
    if policy.quarantine is not None:
        # Not even compiled: a policy that killed a process does not run again until a person has reviewed it.
        return _Entry(policy, None, failed(policy, f'policy "{policy.name}" is quarantined: {policy.quarantine}'))
    try:
        if marker is not None:
            marker.begin(mark_of(policy.org_id, policy.policy_id, policy.version))
        return _Entry(policy, compile_policy(policy.rego_policy, data, libraries), None)
    except ValidationError as error:
        return _Entry(policy, None, failed(policy, f'policy "{policy.name}" cannot be used: {error.message}'))
    finally:
        if marker is not None:
            marker.end()
