"""Asking one policy, or all of them, about one content. Whatever goes wrong, the answer is never a silent allow."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

import structlog

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.mask import mask_secrets
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.model import DEADLINE_SECONDS, Failure, JudgeError, Provider, Question
from headgate.judges.model import Verdict as JudgeVerdict
from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from headgate.kernel.errors import HeadgateError
from headgate.kernel.tasks import TaskSet
from headgate.nlp_policies.model import EMBEDDED, NlpPolicy, NlpPolicyType, NlpResult, Outcome, strictest
from headgate.policies.model import Verdict

_log = structlog.get_logger(__name__)

_WORST: Final = 1.0
_CONTRADICTION: Final = "contradiction"
_DETECTORS_AT_ONCE: Final = 4


@dataclass(slots=True)
class Evaluator:
    """One for a process: its judges, budgets and bounds are shared by all who ask."""

    judges: Judges
    budgets: DailyBudgets
    deadline_seconds: float = DEADLINE_SECONDS
    observe: Callable[[NlpResult], None] = lambda result: None
    _threads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_DETECTORS_AT_ONCE))

    async def evaluate(
        self, policy: NlpPolicy, content: JsonValue, providers: Mapping[str, Provider], *, use_cache: bool = True
    ) -> NlpResult:
        """What this policy says. Raises nothing: what fails is ``on_error``."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.deadline_seconds):
                if policy.draft.provider == EMBEDDED:
                    result = await self._detect(policy, content)
                else:
                    result = await self._judge(policy, content, providers, use_cache=use_cache)
        except JudgeError as error:
            result = _failed(policy, error.failure.value, error.message)
        except TimeoutError:
            result = _failed(policy, Failure.TIMEOUT.value, f"no answer within {self.deadline_seconds:g} s")
        except HeadgateError as error:
            result = _failed(policy, Failure.INTERNAL.value, error.message)
        except Exception as error:  # noqa: BLE001 - a defect in a judge must hold the call, not let it through
            _log.error("nlp_policy_failed", policy_id=policy.policy_id, error=repr(error))
            result = _failed(policy, Failure.INTERNAL.value, "the policy could not be evaluated")
        result = replace(result, latency_ms=round((time.perf_counter() - started) * 1000, 3))
        self.observe(result)
        return result

    async def evaluate_all(
        self, policies: Sequence[NlpPolicy], content: JsonValue, providers: Mapping[str, Provider]
    ) -> list[NlpResult]:
        """In parallel; the first deny ends the rest, whose answers are then not wanted any more."""
        tasks = TaskSet(lambda name, error: _log.error("nlp_policy_failed", task=name, error=repr(error)))
        running = {tasks.start(self.evaluate(one, content, providers), name=one.policy_id) for one in policies}
        results: dict[str, NlpResult] = {}
        try:
            while running:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    result = task.result()
                    assert isinstance(result, NlpResult)  # noqa: S101 - what evaluate returns
                    results[result.policy_id] = result
                if any(result.decision is Verdict.DENY for result in results.values()):
                    break
        finally:
            await tasks.close()
        return [results[one.policy_id] for one in policies if one.policy_id in results]

    async def _detect(self, policy: NlpPolicy, content: JsonValue) -> NlpResult:
        draft = policy.draft
        async with self._threads:
            found = await asyncio.to_thread(assess, EmbeddedModel(policy.model), content, draft.prompt)
        matches = found.risk_score >= draft.threshold
        outcome = Outcome.MATCH if matches else Outcome.CLEAR if found.inspection.complete else Outcome.ERROR
        return NlpResult(
            policy_id=policy.policy_id,
            version=policy.version,
            provider=draft.provider,
            model=policy.model,
            outcome=outcome,
            decision=_decision(policy, outcome),
            risk_score=found.risk_score if outcome is not Outcome.ERROR else _WORST,
            confidence=found.confidence if outcome is not Outcome.ERROR else 0.0,
            issues=found.issues,
            reasoning=found.reasoning,
            engine=found.engine.value,
            latency_ms=0.0,
            error=Failure.NOT_INSPECTED.value if outcome is Outcome.ERROR else None,
            findings=found.inspection.findings,
        )

    async def _judge(
        self, policy: NlpPolicy, content: JsonValue, providers: Mapping[str, Provider], *, use_cache: bool
    ) -> NlpResult:
        draft = policy.draft
        provider = providers.get(draft.provider)
        if provider is None:
            raise JudgeError(Failure.NOT_CONFIGURED, f"the provider {draft.provider} is not configured")
        async with self._threads:
            masked, gaps = await asyncio.to_thread(mask_secrets, content)
        if gaps:
            raise JudgeError(Failure.NOT_INSPECTED, "secrets could not be looked for everywhere")
        question = Question(
            provider=provider,
            model=policy.model,
            policy=policy_text(policy),
            threshold=draft.threshold,
            action=canonical_bytes(masked),
            identity=(policy.org_id, policy.policy_id, str(policy.version)),
        )

        def may_ask() -> bool:
            return self.budgets.spend(f"{policy.org_id} {policy.policy_id}", draft.daily_limit)

        return _judged(policy, provider, await self.judges.ask(question, may_ask=may_ask, use_cache=use_cache))


def decision_of(results: Sequence[NlpResult]) -> Verdict:
    """The strictest of all; allow where nobody objects."""
    return strictest(result.decision for result in results)


@cache
def _type_policies() -> Section:
    return read_document(resource_path("prompts", "types.yaml"))


def policy_text(policy: NlpPolicy) -> str:
    """What a language model judges by: the type's policy, the user's, or both."""
    draft = policy.draft
    if draft.type is NlpPolicyType.CUSTOM:
        return draft.prompt or ""
    general = _type_policies().text(draft.type.value).strip()
    return general if not draft.prompt else f"{general}\n\nIn particular:\n{draft.prompt}"


def _judged(policy: NlpPolicy, provider: Provider, verdict: JudgeVerdict) -> NlpResult:
    judgement = verdict.judgement
    matches = judgement.risk_score >= policy.draft.threshold
    contradicts = judgement.flagged != matches
    outcome = Outcome.ERROR if contradicts else Outcome.MATCH if matches else Outcome.CLEAR
    return NlpResult(
        policy_id=policy.policy_id,
        version=policy.version,
        provider=policy.draft.provider,
        model=policy.model,
        outcome=outcome,
        decision=_decision(policy, outcome),
        risk_score=judgement.risk_score,
        confidence=judgement.confidence,
        issues=tuple(_without_secrets(issue) for issue in judgement.detected_issues),
        reasoning=_without_secrets(judgement.reasoning),
        engine="judge",
        latency_ms=0.0,
        error=_CONTRADICTION if contradicts else None,
        usage=verdict.usage,
        cost_usd=0.0 if verdict.cached else verdict.usage.cost(provider),
        cached=verdict.cached,
    )


def _without_secrets(text: str) -> str:
    masked, gaps = mask_secrets(text)
    return "[masked]" if gaps or not isinstance(masked, str) else masked


def _decision(policy: NlpPolicy, outcome: Outcome) -> Verdict:
    if outcome is Outcome.CLEAR:
        return Verdict.ALLOW
    return policy.draft.on_match if outcome is Outcome.MATCH else policy.draft.on_error


def _failed(policy: NlpPolicy, error: str, reason: str) -> NlpResult:
    return NlpResult(
        policy_id=policy.policy_id,
        version=policy.version,
        provider=policy.draft.provider,
        model=policy.model,
        outcome=Outcome.ERROR,
        decision=_decision(policy, Outcome.ERROR),
        risk_score=_WORST,
        confidence=0.0,
        issues=(),
        reasoning=reason,
        engine="none",
        latency_ms=0.0,
        error=error,
    )
