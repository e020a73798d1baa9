"""Asking one policy, or all of them, about one content. Whatever goes wrong, the answer is never a silent allow."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, Protocol

import structlog

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.mask import mask_secrets
from headgate.judges.model import DEADLINE_SECONDS, Failure, JudgeError, Provider, Question
from headgate.judges.model import Verdict as JudgeVerdict
from headgate.judges.verdict_cache import question_key
from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from headgate.kernel.errors import HeadgateError
from headgate.kernel.tasks import TaskSet
from headgate.nlp_policies.model import EMBEDDED, NlpPolicy, NlpPolicyType, NlpResult, strictest
from headgate.nlp_policies.recall import NOTHING_RECALLED, Recalled
from headgate.nlp_policies.results import detected, failed, judged, recalled_result
from headgate.policies.model import Verdict

_log = structlog.get_logger(__name__)

_DETECTORS_AT_ONCE: Final = 4


class AsksJudges(Protocol):
    """``Judges``, or a rehearsal of it."""

    async def ask(
        self, question: Question, *, may_ask: Callable[[], Awaitable[bool]] = ..., use_cache: bool = ...
    ) -> JudgeVerdict: ...


class Spends(Protocol):
    """``DailyBudgets``, or a rehearsal of it."""

    async def spend(self, policy_key: str, limit: int) -> bool: ...


@dataclass(slots=True)
class Evaluator:
    """One for a process: its judges, budgets and bounds are shared by all who ask."""

    judges: AsksJudges
    budgets: Spends
    deadline_seconds: float = DEADLINE_SECONDS
    observe: Callable[[NlpResult], None] = lambda result: None
    _threads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_DETECTORS_AT_ONCE))

    async def evaluate(
        self,
        policy: NlpPolicy,
        content: JsonValue,
        providers: Mapping[str, Provider],
        *,
        use_cache: bool = True,
        recalled: Recalled = NOTHING_RECALLED,
    ) -> NlpResult:
        """What this policy says. Raises nothing: what fails is ``on_error``."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.deadline_seconds):
                if policy.draft.provider == EMBEDDED:
                    result = await self._detect(policy, content)
                else:
                    result = await self._judge(policy, content, providers, recalled, use_cache=use_cache)
        except JudgeError as error:
            result = failed(policy, error.failure.value, error.message)
        except TimeoutError:
            result = failed(policy, Failure.TIMEOUT.value, f"no answer within {self.deadline_seconds:g} s")
        except HeadgateError as error:
            result = failed(policy, Failure.INTERNAL.value, error.message)
        except Exception as error:  # noqa: BLE001 - a defect in a judge must hold the call, not let it through
            _log.error("nlp_policy_failed", policy_id=policy.policy_id, error=repr(error))
            result = failed(policy, Failure.INTERNAL.value, "the policy could not be evaluated")
        result = replace(result, latency_ms=round((time.perf_counter() - started) * 1000, 3))
        self.observe(result)
        return result

    async def evaluate_all(
        self,
        policies: Sequence[NlpPolicy],
        content: JsonValue,
        providers: Mapping[str, Provider],
        recalled: Recalled = NOTHING_RECALLED,
    ) -> list[NlpResult]:
        """In parallel; the first deny ends the rest, whose answers are then not wanted any more."""
        tasks = TaskSet(lambda name, error: _log.error("nlp_policy_failed", task=name, error=repr(error)))
        running = {
            tasks.start(self.evaluate(one, content, providers, recalled=recalled), name=one.policy_id)
            for one in policies
        }
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
        async with self._threads:
            found = await asyncio.to_thread(assess, EmbeddedModel(policy.model), content, policy.draft.prompt)
        return detected(policy, found)

    async def _judge(
        self,
        policy: NlpPolicy,
        content: JsonValue,
        providers: Mapping[str, Provider],
        recalled: Recalled,
        *,
        use_cache: bool,
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

        key = question_key(question).hex()
        if use_cache and (known := recalled.get(key)) is not None:
            return recalled_result(policy, known, key)

        async def may_ask() -> bool:
            return await self.budgets.spend(f"{policy.org_id} {policy.policy_id}", draft.daily_limit)

        verdict = await self.judges.ask(question, may_ask=may_ask, use_cache=use_cache)
        return judged(policy, provider, verdict, key)


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
