"""Asking a judge: within one deadline, in the strictest form that the provider knows, repaired once, else an error."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from headgate.judges.answer import parse_judgement
from headgate.judges.anthropic import Anthropic
from headgate.judges.breaker import Breaker, BreakerState
from headgate.judges.gemini import Gemini
from headgate.judges.model import (
    DEADLINE_SECONDS,
    Failure,
    JudgeError,
    Judgement,
    Provider,
    ProviderKind,
    Question,
    Usage,
    Verdict,
)
from headgate.judges.openai_compatible import OpenAiCompatible
from headgate.judges.prompt import repair_message, system_message, user_messages
from headgate.judges.transport import FormRefusedError, exchange
from headgate.judges.verdict_cache import VerdictCache
from headgate.judges.wire import Adapter, Form, Role, Turn, WireAnswer
from headgate.kernel.tasks import TaskSet
from headgate.outgoing.client import OutgoingClient

_ADAPTERS: Final[dict[ProviderKind, Adapter]] = {
    ProviderKind.OPENAI_COMPATIBLE: OpenAiCompatible(),
    ProviderKind.ANTHROPIC: Anthropic(),
    ProviderKind.GEMINI: Gemini(),
}
CONCURRENT_MAX: Final = 16
REHEARSED_AT_ONCE: Final = 4
_COUNTS_AGAINST_PROVIDER: Final = frozenset(
    (Failure.TIMEOUT, Failure.UNREACHABLE, Failure.RATE_LIMITED, Failure.PROVIDER_ERROR)
)


async def always() -> bool:
    """A budget that never ends."""
    return True


class Judges:
    """All judges of a process. ``ask`` is safe to call at once from many tasks."""

    def __init__(
        self,
        client: OutgoingClient,
        *,
        clock: Callable[[], float] = time.monotonic,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self._client = client
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._cache = VerdictCache(clock)
        self._breakers: dict[Lane, Breaker] = {}
        self._slots: dict[Lane, asyncio.Semaphore] = {}
        self._rehearsals: dict[Lane, asyncio.Semaphore] = {}
        self._rehearsing = TaskSet(lambda name, error: None)  # whoever waits for it is told
        self._forms: dict[tuple[Lane, str], Form] = {}

    async def ask(
        self, question: Question, *, may_ask: Callable[[], Awaitable[bool]] = always, use_cache: bool = True
    ) -> Verdict:
        """``may_ask`` spends of a budget, where the answer is not known. Raises JudgeError, within the deadline."""
        if use_cache:
            return await self._cache.verdict(question, lambda: self._ask(question, may_ask))
        return await self._ask(question, may_ask)

    def breakers(self) -> list[tuple["Lane", BreakerState]]:
        """What is left alone at this moment, and what is not."""
        return [(lane, breaker.state) for lane, breaker in self._breakers.items()]

    async def rehearse(self, question: Question, *, may_ask: Callable[[], Awaitable[bool]]) -> Verdict:
        """What ``ask`` would answer now, while cache and breaker stay as they are: a call that nobody makes must
        neither shut the provider for those that are made, nor answer in their place. Raises JudgeError."""
        if (known := self._cache.peek(question)) is not None:
            return known
        breaker = self._breakers.get(_lane(question))
        if breaker is not None and not breaker.would_allow():
            raise _left_alone()
        if not await may_ask():
            raise _used_up()
        slots = self._rehearsals.setdefault(_lane(question), asyncio.Semaphore(REHEARSED_AT_ONCE))
        asking = self._rehearsing.start(self._within_deadline(question, slots), name="rehearse_judge")
        # Shielded, as in the cache: who waits may be told of another's deny first.
        verdict = await asyncio.shield(asking)
        assert isinstance(verdict, Verdict)  # noqa: S101 - what _within_deadline returns
        return verdict

    async def close(self) -> None:
        await self._cache.close()
        await self._rehearsing.close()

    async def _ask(self, question: Question, may_ask: Callable[[], Awaitable[bool]]) -> Verdict:
        lane = _lane(question)
        breaker = self._breakers.setdefault(lane, Breaker(self._clock))
        if not breaker.allows():
            raise _left_alone()
        began = self._clock()
        try:
            if not await may_ask():
                raise _used_up()
            slots = self._slots.setdefault(lane, asyncio.Semaphore(CONCURRENT_MAX))
            verdict = await self._within_deadline(question, slots)
        except JudgeError as error:
            if error.failure in _COUNTS_AGAINST_PROVIDER:
                breaker.failed(began)
            elif error.failure is Failure.BUDGET_EXHAUSTED:
                breaker.gave_up(began)
            else:
                breaker.succeeded()
            raise
        except BaseException:
            breaker.gave_up(began)
            raise
        breaker.succeeded()
        return verdict

    async def _within_deadline(self, question: Question, slots: asyncio.Semaphore) -> Verdict:
        try:
            async with asyncio.timeout(self._deadline_seconds), slots:
                return await self._ask_all_parts(question)
        except TimeoutError as error:
            raise JudgeError(Failure.TIMEOUT, f"no answer within {self._deadline_seconds:g} s") from error

    async def _ask_all_parts(self, question: Question) -> Verdict:
        system, parts = system_message(question), user_messages(question)
        if len(parts) == 1:
            return await self._ask_once(question, system, parts[0])
        asking = (self._ask_once(question, system, part) for part in parts)
        verdicts: list[Verdict] = []
        for result in await asyncio.gather(*asking, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
            verdicts.append(result)
        return _worst(verdicts)

    async def _ask_once(self, question: Question, system: str, message: str) -> Verdict:
        turns = [Turn(Role.USER, message)]
        answer, requests = await self._answer(question, system, turns)
        try:
            return Verdict(parse_judgement(answer.text), answer.usage, requests)
        except JudgeError as error:
            problem = error.message
        turns += [Turn(Role.ASSISTANT, answer.text), Turn(Role.USER, repair_message(problem))]
        again, more = await self._answer(question, system, turns)
        return Verdict(parse_judgement(again.text), answer.usage.plus(again.usage), requests + more)

    async def _answer(self, question: Question, system: str, turns: list[Turn]) -> tuple[WireAnswer, int]:
        """By the form that this model took last time, or the strictest that it takes. Another organization's long
        questions, which fit only into a looser form, loosen nothing here."""
        provider, adapter, lane = question.provider, _ADAPTERS[question.provider.kind], _lane(question)
        known = self._forms.get((lane, question.model), adapter.forms[0])
        requests = 0
        status = 0
        for form in adapter.forms[adapter.forms.index(known) :]:
            request = adapter.request(provider, question.model, system, turns, form)
            requests += 1
            try:
                document = await exchange(self._client, request, provider.rules, lane.org_id or "")
            except FormRefusedError as error:
                status = error.status
                continue
            self._forms[lane, question.model] = form
            return adapter.answer(document), requests
        self._forms.pop((lane, question.model), None)
        raise JudgeError(
            Failure.REFUSED, f"The provider answered {status} to every request format. Check that the model exists."
        )


def _left_alone() -> JudgeError:
    return JudgeError(Failure.BREAKER_OPEN, "the provider failed repeatedly and is left alone for some seconds")


def _used_up() -> JudgeError:
    return JudgeError(Failure.BUDGET_EXHAUSTED, "the policy's questions of this day are used up")


class Lane(NamedTuple):
    """What shares a breaker and slots: a provider as one organization uses it. Another's exhausted quota, or its many
    questions, are not this one's trouble."""

    org_id: str | None
    provider: str


def _lane(question: Question) -> Lane:
    return Lane(question.identity[0] if question.identity else None, _address(question.provider))


def _address(provider: Provider) -> str:
    return f"{provider.kind.value} {provider.base_url}"


def _worst(verdicts: list[Verdict]) -> Verdict:
    """Of all parts: flagged if one is, the highest score, all issues."""
    judgements = [verdict.judgement for verdict in verdicts]
    worst = max(judgements, key=lambda one: (one.flagged, one.risk_score))
    usage = Usage()
    for verdict in verdicts:
        usage = usage.plus(verdict.usage)
    return Verdict(
        Judgement(
            flagged=worst.flagged,
            risk_score=worst.risk_score,
            confidence=min(one.confidence for one in judgements),
            detected_issues=tuple(dict.fromkeys(issue for one in judgements for issue in one.detected_issues)),
            reasoning=worst.reasoning,
        ),
        usage,
        sum(verdict.requests for verdict in verdicts),
    )
