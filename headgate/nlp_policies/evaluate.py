"""Asking one policy, or all of them, about one content. Whatever goes wrong, the answer is never a silent allow."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Final, Protocol

import structlog

from headgate.classifiers.classifiers import Classifiers
from headgate.classifiers.texts import read_texts
from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.assess import Assessment, EmbeddedModel, assess
from headgate.detectors.limits import Limits
from headgate.detectors.mask import mask_secrets
from headgate.judges.model import DEADLINE_SECONDS, Failure, JudgeError, Provider, Question
from headgate.judges.model import Verdict as JudgeVerdict
from headgate.judges.verdict_cache import question_key
from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from headgate.kernel.errors import HeadgateError
from headgate.kernel.fair_turns import FairTurns
from headgate.kernel.loop_share import LoopRests, LoopShare
from headgate.kernel.tasks import TaskSet
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.model import EMBEDDED, ONNX, NlpPolicy, NlpPolicyType, NlpResult, Outcome, strictest
from headgate.nlp_policies.recall import NOTHING_RECALLED, Recalled
from headgate.nlp_policies.results import classified, detected, failed, judged, recalled_result, unscannable
from headgate.policies.model import Verdict

_log = structlog.get_logger(__name__)

DETECTORS_AT_ONCE: Final = 2
"""They hold the interpreter's lock: more of them would find nothing sooner, and keep the event loop waiting."""
SMALL_CHARACTERS: Final = 2048
SMALL_VALUES: Final = 100
_SMALL: Final = Limits(
    input_bytes_max=2 * SMALL_CHARACTERS,
    decoded_factor=0,
    decoded_bytes_floor=4 * SMALL_CHARACTERS,
    candidates_floor=64,
    seconds_max=0.005,
)
"""Limits of an inspection in the event loop. Most calls fit them; a switch to a thread costs as much as inspecting."""
_NOT_SHOWN: Final = "what is not text is not shown to a language model"


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
    """One for a process: its judges, classifiers, budgets and bounds are shared by all who ask."""

    judges: AsksJudges
    budgets: Spends
    deadline_seconds: float = DEADLINE_SECONDS
    observe: Callable[[NlpResult], None] = lambda result: None
    classifiers: Classifiers = field(default_factory=lambda: Classifiers(None))
    _turns: FairTurns = field(
        default_factory=lambda: FairTurns(DETECTORS_AT_ONCE, "policies about content", rests=True)
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
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.deadline_seconds):
                if policy.draft.provider == EMBEDDED:
                    result = await self._detect(policy, content)
                elif policy.draft.provider == ONNX:
                    result = await self._classify(policy, content)
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
        took = time.perf_counter() - started
        if took > self.deadline_seconds and result.outcome is Outcome.CLEAR:
            # The event loop was too busy to end it in time: what waited for it may be decided already.
            result = failed(policy, Failure.TIMEOUT.value, f"no answer within {self.deadline_seconds:g} s")
        result = replace(result, latency_ms=round(took * 1000, 3))
        self.observe(result)
        return result

    async def evaluate_all(
        self,
        policies: Sequence[NlpPolicy],
        content: JudgedContent,
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

    async def _detect(self, policy: NlpPolicy, content: JudgedContent) -> NlpResult:
        """Inspects small content in the event loop; in a thread what is large, or exceeds ``_SMALL``."""
        value = content.for_detectors(policy.draft.scope.except_headers)
        look = partial(
            assess,
            EmbeddedModel(policy.model),
            value,
            policy.draft.prompt,
            attachments=content.attachments,
            joined=content.joined_without(policy.draft.scope.except_headers),
            kinds=policy.draft.scope.kinds,
            other_tools=content.other_tools,
        )
        found: Assessment | None = None
        fits = _is_small(value, content) and len(policy.draft.prompt or "") <= SMALL_CHARACTERS
        if fits and self._rests.allows() and self._share.allows(policy.org_id):
            began = time.perf_counter()
            found = look(limits=_SMALL)
            took = time.perf_counter() - began
            self._rests.charge(took)
            self._share.charge(policy.org_id, took)
        if found is None or found.inspection.gaps:
            async with self._turns.turn(policy.org_id, policy.policy_id) as turn:
                found = await turn.in_thread(look)
        return _with_unscannable(policy, content, detected(policy, found))

    async def _classify(self, policy: NlpPolicy, content: JudgedContent) -> NlpResult:
        """As a detector: nothing leaves the process, so that nothing is masked."""
        async with self._turns.turn(policy.org_id, policy.policy_id) as turn:
            value = content.for_detectors(policy.draft.scope.except_headers)
            read = await turn.in_thread(read_texts, value, content.attachments)
        said = await self.classifiers.classify(policy.org_id, policy.policy_id, policy.model, read.texts)
        return _with_unscannable(policy, content, classified(policy, said, read.inspection))

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
        async with self._turns.turn(policy.org_id, policy.policy_id) as turn:
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


def _is_small(value: JsonValue, content: JudgedContent) -> bool:
    """Whether it has at most ``SMALL_CHARACTERS`` and ``SMALL_VALUES``; stops counting there."""
    if content.attachments or content.other_tools is not None:
        return False
    left = SMALL_CHARACTERS - sum(len(one.text) + sum(map(len, one.before)) for one in content.joined)
    values, stack = SMALL_VALUES, [value]
    while stack and values >= 0 and left >= 0:
        one = stack.pop()
        if isinstance(one, str):
            left -= len(one)
        elif isinstance(one, dict | list):
            values -= len(one)
            if values >= 0:
                stack.extend(one.values() if isinstance(one, dict) else one)
                left -= sum(map(len, one)) if isinstance(one, dict) else 0
    return values >= 0 and left >= 0


def _with_unscannable(policy: NlpPolicy, content: JudgedContent, result: NlpResult) -> NlpResult:
    """What was found beside what cannot be opened counts first."""
    if content.unscannable is None or result.outcome is not Outcome.CLEAR:
        return result
    return unscannable(policy, content.unscannable, result.engine)


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
