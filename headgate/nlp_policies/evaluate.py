"""Asking one policy, or all of them, about one content. Whatever goes wrong, the answer is never a silent allow."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Final, Protocol

import structlog
from msgspec import Struct, field
from msgspec.structs import replace

from headgate.classifiers.classifiers import Classifiers
from headgate.classifiers.texts import read_texts
from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.mask import mask_secrets
from headgate.judges.model import DEADLINE_SECONDS, Failure, JudgeError, Provider, Question
from headgate.judges.model import Verdict as JudgeVerdict
from headgate.judges.verdict_cache import question_key
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import HeadgateError
from headgate.kernel.fair_turns import FairTurns
from headgate.kernel.loop_share import LoopRests, LoopShare
from headgate.kernel.tasks import TaskSet
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.detector_round import DetectorRound
from headgate.nlp_policies.model import EMBEDDED, ONNX, NlpPolicy, NlpPolicyType, NlpResult, strictest
from headgate.nlp_policies.recall import NOTHING_RECALLED, Recalled
from headgate.nlp_policies.results import classified, failed, judged, recalled_result, unscannable, with_unscannable
from headgate.policies.model import Verdict

_log = structlog.get_logger(__name__)

DETECTORS_AT_ONCE: Final = 2
"""They hold the interpreter's lock: more of them would find nothing sooner, and keep the event loop waiting."""
DETECTOR_SECONDS_MAX: Final = 10.0
"""From a call to the answers of all its detectors, the wait for a turn included: as long as rules may wait
(``kernel.fair_turns``). A language model has ``DEADLINE_SECONDS``."""
TURN_SECONDS: Final = 0.1
"""A content that takes longer gives its thread to the next organization in between."""
WAITING_OF_AGENT_MAX: Final = 256
WAITING_OF_ORGANIZATION_MAX: Final = 1024
_NOT_SHOWN: Final = "what is not text is not shown to a language model"


class AsksJudges(Protocol):
    """``Judges``, or a rehearsal of it."""

    async def ask(
        self, question: Question, *, may_ask: Callable[[], Awaitable[bool]] = ..., use_cache: bool = ...
    ) -> JudgeVerdict: ...


class Spends(Protocol):
    """``DailyBudgets``, or a rehearsal of it."""

    async def spend(self, policy_key: str, limit: int) -> bool: ...


class Evaluator(Struct):
    """One for a process: its judges, classifiers, budgets and bounds are shared by all who ask."""

    judges: AsksJudges
    budgets: Spends
    deadline_seconds: float = DEADLINE_SECONDS
    detector_seconds: float = DETECTOR_SECONDS_MAX
    observe: Callable[[NlpResult], None] = lambda result: None
    classifiers: Classifiers = field(default_factory=lambda: Classifiers(None))
    _turns: FairTurns = field(
        default_factory=lambda: FairTurns(
            DETECTORS_AT_ONCE,
            "policies about content",
            rests=True,
            waiting_of_agent_max=WAITING_OF_AGENT_MAX,
            waiting_of_organization_max=WAITING_OF_ORGANIZATION_MAX,
        )
    )
    _share: LoopShare = field(default_factory=LoopShare)
    _rests: LoopRests = field(default_factory=LoopRests)

    async def evaluate(
        self,
        policy: NlpPolicy,
        content: JudgedContent,
        providers: Mapping[str, Provider],
        *,
        use_cache: bool = True,
        recalled: Recalled = NOTHING_RECALLED,
    ) -> NlpResult:
        """What this policy says. Raises nothing: what fails is ``on_error``."""
        if policy.draft.provider == EMBEDDED:
            return (await self._detect(DetectorRound([policy], content)))[0]
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.deadline_seconds):
                if policy.draft.provider == ONNX:
                    result = await self._classify(policy, content)
                else:
                    result = await self._judge(policy, content, providers, recalled, use_cache=use_cache)
        except Exception as error:  # noqa: BLE001 - a defect in a judge must hold the call, not let it through
            result = self._failed(policy, error, self.deadline_seconds)
        return self._ended(policy, result, started, self.deadline_seconds)

    async def evaluate_all(
        self,
        policies: Sequence[NlpPolicy],
        content: JudgedContent,
        providers: Mapping[str, Provider],
        recalled: Recalled = NOTHING_RECALLED,
    ) -> list[NlpResult]:
        """Those with detectors one after another, the others beside them; the first deny ends the rest, whose answers
        are then not wanted any more."""
        with_detectors = [one for one in policies if one.draft.provider == EMBEDDED]
        if len(with_detectors) == len(policies):
            return await self._detect(DetectorRound(policies, content))
        started = time.perf_counter()
        tasks = TaskSet(lambda name, error: _log.error("nlp_policy_failed", task=name, error=repr(error)))
        running = {
            tasks.start(self._alone(one, content, providers, recalled), name=one.policy_id)
            for one in policies
            if one.draft.provider != EMBEDDED
        }
        asked = DetectorRound(with_detectors, content)
        if with_detectors:
            running.add(tasks.start(self._detect(asked), name="detectors"))
        results: dict[str, NlpResult] = {}
        try:
            while running:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    said = task.result()
                    assert isinstance(said, list)  # noqa: S101 - what both return
                    results.update((one.policy_id, one) for one in said)
                if any(result.decision is Verdict.DENY for result in results.values()):
                    break
        finally:
            await tasks.close()
        for policy in with_detectors:  # those that had answered when another ended the rest
            if policy.policy_id not in results and (said_before := asked.results.get(policy.policy_id)) is not None:
                results[policy.policy_id] = self._ended(policy, said_before, started, self.detector_seconds)
        return [results[one.policy_id] for one in policies if one.policy_id in results]

    async def _alone(
        self, policy: NlpPolicy, content: JudgedContent, providers: Mapping[str, Provider], recalled: Recalled
    ) -> list[NlpResult]:
        return [await self.evaluate(policy, content, providers, recalled=recalled)]

    async def _detect(self, asked: DetectorRound) -> list[NlpResult]:
        """What each says, up to the first deny. Inspects small content in the event loop; in a thread what is large, or
        exceeds ``SMALL_LIMITS``. Raises nothing."""
        if not asked.policies:
            return []
        started = time.perf_counter()
        failure: Exception | None = None
        try:
            async with asyncio.timeout(self.detector_seconds):
                await self._go_round(asked, asked.policies[0].org_id)
        except Exception as error:  # noqa: BLE001 - as in evaluate
            failure = error
        results: list[NlpResult] = []
        for policy in asked.policies:
            result = asked.results.get(policy.policy_id)
            if result is None and failure is not None:
                result = self._failed(policy, failure, self.detector_seconds)
            if result is not None:
                results.append(self._ended(policy, result, started, self.detector_seconds))
        return results

    async def _go_round(self, asked: DetectorRound, org_id: str) -> None:
        if asked.is_small and self._rests.allows() and self._share.allows(org_id):
            began = time.perf_counter()
            asked.ask_within_small_limits()
            took = time.perf_counter() - began
            self._rests.charge(took)
            self._share.charge(org_id, took)
        while asked.left and not asked.is_denied:
            async with self._turns.turn(org_id, asked.agent_id) as turn:
                await turn.in_thread(asked.ask_for, TURN_SECONDS)

    def _failed(self, policy: NlpPolicy, error: Exception, seconds: float) -> NlpResult:
        match error:
            case JudgeError():
                return failed(policy, error.failure.value, error.message)
            case TimeoutError():
                return failed(policy, Failure.TIMEOUT.value, f"no answer within {seconds:g} s")
            case HeadgateError():
                return failed(policy, Failure.INTERNAL.value, error.message)
            case _:
                _log.error("nlp_policy_failed", policy_id=policy.policy_id, error=repr(error))
                return failed(policy, Failure.INTERNAL.value, "the policy could not be evaluated")

    def _ended(self, policy: NlpPolicy, result: NlpResult, started: float, seconds: float) -> NlpResult:
        """With the time that it took; one that came too late allows nothing: the event loop was too busy, and what
        waited for it may be decided already."""
        took = result.latency_ms / 1000 or time.perf_counter() - started
        if took > seconds and result.decision is Verdict.ALLOW:
            result = failed(policy, Failure.TIMEOUT.value, f"no answer within {seconds:g} s")
        result = replace(result, latency_ms=round(took * 1000, 3))
        self.observe(result)
        return result

    async def _classify(self, policy: NlpPolicy, content: JudgedContent) -> NlpResult:
        """As a detector: nothing leaves the process, so that nothing is masked."""
        async with self._turns.turn(policy.org_id, content.agent_id) as turn:
            value = content.for_detectors(policy.draft.scope.except_headers)
            read = await turn.in_thread(read_texts, value, content.attachments)
        said = await self.classifiers.classify(policy.org_id, policy.policy_id, policy.model, read.texts)
        return with_unscannable(policy, content.unscannable, classified(policy, said, read.inspection))

    async def _judge(
        self,
        policy: NlpPolicy,
        content: JudgedContent,
        providers: Mapping[str, Provider],
        recalled: Recalled,
        *,
        use_cache: bool,
    ) -> NlpResult:
        draft = policy.draft
        unseen = content.unscannable or (_NOT_SHOWN if content.attachments else None)
        if unseen is not None and draft.if_unscannable is not Verdict.ALLOW:
            return unscannable(policy, unseen, "none")
        provider = providers.get(draft.provider)
        if provider is None:
            raise JudgeError(Failure.NOT_CONFIGURED, f"the provider {draft.provider} is not configured")
        async with self._turns.turn(policy.org_id, content.agent_id) as turn:
            masked, gaps = await turn.in_thread(mask_secrets, content.value)
        if gaps:
            raise JudgeError(Failure.NOT_INSPECTED, "the secret scan was incomplete")
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
