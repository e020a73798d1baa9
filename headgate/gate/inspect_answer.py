"""Applies content policies to a response before the agent receives it.

A response cannot be held: the call was made. Any result other than "clear" (a match or an error, ``deny`` or
``require_approval``) withholds it (docs/decisions/0012-withhold-unsafe-responses.md), unless the policy only tags what
it finds. The policies are those that decided the call.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.detectors.assess import EmbeddedModel
from headgate.gate.candidate import ReadAction
from headgate.gate.judge_content import reads_joined_texts, unmasked
from headgate.gate.judged_answer import (
    Answer,
    AnsweredCall,
    Definitions,
    judged_answer,
    judged_beginning,
    judged_events,
    judged_head,
    judged_messages,
    judged_pieces,
    with_definitions,
)
from headgate.gate.judged_content import messages_of
from headgate.gate.masked_body import MaskedBody, masked_in_time
from headgate.gate.masked_events import masked_events
from headgate.gate.organization_state import OrganizationState
from headgate.judges.model import Failure, Provider
from headgate.kernel.canonical_json import JsonObject, JsonValue, sha256_hex
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.message_window import ArrivedMessages
from headgate.nlp_policies.model import EMBEDDED, Direction, NlpPolicy, NlpResult, OnMatch, Outcome
from headgate.policies.model import Verdict
from headgate.protocols.answer_head import AnswerHead, Fields, StreamKind, is_part
from headgate.protocols.answer_pieces import Windows

INSPECTION_FAILED: Final = "the inspection failed"
_WITHHOLD: Final = "withhold"
_JUDGE: Final = "judge"


class Verdicts(Struct, frozen=True):
    """What the policies said of one answer, or of one stretch of a stream. ``withheld``: why the agent does not see
    it, in words that give nothing away of it; None: it may. ``masked``: what the agent gets in place of the body."""

    results: tuple[NlpResult, ...]
    withheld: str | None = None
    masked: MaskedBody | None = None

    def after(self, earlier: "Verdicts") -> "Verdicts":
        """Of a stream: each policy's worst, which is its last, with the time that it took for all."""
        before = {result.policy_id: result for result in earlier.results}
        added = tuple(_after(before.get(one.policy_id), one) for one in self.results)
        said = {one.policy_id for one in added}
        return Verdicts(
            (*added, *(one for one in earlier.results if one.policy_id not in said)), self.withheld, self.masked
        )

    def record(self) -> list[JsonValue]:
        """An entry for each policy, as in a decision; what withholds says so in place of what cannot be done."""
        return [_entry(result) for result in self.results]

    def inspection(self) -> JsonObject:
        """What is kept of it in the outcome of the call."""
        record: JsonObject = {"withheld": self.withheld is not None, "nlp": self.record()}
        if self.masked is not None:
            record["masked"] = {
                "count": self.masked.count,
                "kinds": list(self.masked.kinds),
                "size_bytes": len(self.masked.body),
                "sha256": sha256_hex(self.masked.body),
            }
        return record if self.withheld is None else {**record, "reason": self.withheld}

    def details(self) -> list[JsonValue]:
        """For the agent: who objected. Not what a language model wrote, which may quote what is withheld."""
        return [
            {
                "policy_id": result.policy_id,
                "outcome": result.outcome.value,
                "issues": [] if result.engine == _JUDGE else list(result.issues),
                "error": result.error,
            }
            for result in self.results
            if result.decision is not Verdict.ALLOW
        ]


NOTHING_SAID: Final = Verdicts(())


def shown_inspection(inspection: JsonObject) -> JsonObject:
    """An inspection as it stands in the result of an execution, which agents read: of a withheld answer without what a
    language model wrote, which may quote it."""
    entries = inspection.get("nlp")
    if not inspection["withheld"] or not isinstance(entries, list):
        return inspection
    return {**inspection, "nlp": [_shown(entry) for entry in entries if isinstance(entry, dict)]}


class AnswerJudge(Struct, frozen=True):
    """The policies that look at the answer of one call."""

    evaluator: Evaluator
    policies: Sequence[NlpPolicy]
    providers: Mapping[str, Provider]
    call: AnsweredCall
    agent_id: str

    @property
    def lets_unscannable_pass(self) -> bool:
        """Whether no policy objects to what it cannot open: then the beginning of a large answer is enough. Language
        models and classifiers judge what is whole."""
        allowing = [policy.draft.if_unscannable is Verdict.ALLOW for policy in self.policies]
        return bool(allowing) and all(allowing) and not self.needs_the_whole

    @property
    def needs_the_whole(self) -> bool:
        """A language model or a classifier judges what is finished; a detector can be asked again and again. An agent
        card is one text."""
        return self.call.describes_an_agent or any(policy.draft.provider != EMBEDDED for policy in self.policies)

    async def of_answer(
        self,
        answer: Answer,
        *,
        max_bytes: int,
        definitions: Definitions | None = None,
        arrived: ArrivedMessages | None = None,
    ) -> Verdicts:
        """``definitions``: of the tools that the answer offers. ``arrived``: of a message, its place among those before
        it."""
        if answer.is_whole:
            in_part = definitions is None and self.lets_unscannable_pass
            read = partial(judged_answer, self.call, answer, max_bytes=max_bytes, in_part=in_part)
        else:
            read = partial(judged_beginning, self.call, answer, max_bytes=max_bytes)
        content = await asyncio.to_thread(read) if answer.is_large else read()
        if definitions is not None:
            content = with_definitions(content, definitions)
        elif self.call.describes_an_agent:
            content = replace(content, other_tools=frozenset())
        if arrived is not None and reads_joined_texts(self.policies):
            content = replace(content, joined=arrived.joined(messages_of(content.value)))
        return await self._verdicts(content)

    async def of_answer_or_masked(
        self,
        answer: Answer,
        *,
        max_bytes: int,
        definitions: Definitions | None = None,
        arrived: ArrivedMessages | None = None,
    ) -> Verdicts:
        """As ``of_answer``; where policies mask and nothing else objects, with the body to forward in place of it."""
        first = await self.of_answer(answer, max_bytes=max_bytes, definitions=definitions, arrived=arrived)
        to_mask = [found for result in first.results for found in result.to_mask]
        if not to_mask or definitions is not None or not answer.is_whole or is_part(answer.head):
            return first
        fields = (*answer.head.fields, *answer.trailers)
        if answer.head.stream is StreamKind.EVENTS:
            made = await self._masked_events(fields, answer.body)
        else:
            made = await masked_in_time(fields, "", answer.body, to_mask)
        if made is None:
            return first
        second = await self.of_answer(replace(answer, body=made.body), max_bytes=max_bytes, arrived=arrived)
        return self._masked(first, second, made)

    async def of_pieces_or_masked(self, head: AnswerHead, pieces: bytes, windows: Windows) -> Verdicts:
        """As ``of_pieces``; where policies mask and nothing else objects, with the events to forward in place of these,
        which are then those that are read together with later ones."""
        first = await self.of_pieces(head, pieces, windows)
        if self.masks_pieces(head) and any(one.to_mask for one in first.results):
            made = await self._masked_events(head.fields, pieces)
            if made is not None:
                windows.take_back()
                return self._masked(first, await self.of_pieces(head, made.body, windows), made)
        windows.keep()
        return first

    def masks_pieces(self, head: AnswerHead) -> bool:
        """Whether events of such a stream may be masked."""
        return bool(self._masking) and head.stream is StreamKind.EVENTS

    async def _masked_events(self, fields: Fields, events: bytes) -> MaskedBody | None:
        content = await asyncio.to_thread(judged_events, self.call, events)
        masking = [one for one in self.policies if one.draft.on_match is OnMatch.MASK]
        results = await self.evaluator.evaluate_all(masking, replace(content, agent_id=self.agent_id), self.providers)
        found = [one for result in results for one in result.to_mask]
        return await asyncio.to_thread(masked_events, fields, events, found)

    def _masked(self, first: Verdicts, second: Verdicts, made: MaskedBody) -> Verdicts:
        """``first``, unless the second look finds nothing of what is masked, in all of it, and nothing else objects."""
        if second.withheld is not None or not all(map(self._has_nothing_to_mask, second.results)):
            return first
        found = {one.policy_id: replace(one, decision=Verdict.ALLOW) for one in first.results if one.to_mask}
        return Verdicts(tuple(found.get(one.policy_id, one) for one in second.results), None, made)

    @property
    def _masking(self) -> frozenset[str]:
        return frozenset(one.policy_id for one in self.policies if one.draft.on_match is OnMatch.MASK)

    def _has_nothing_to_mask(self, result: NlpResult) -> bool:
        """All was inspected, and nothing is left of what its policy masks."""
        clear = result.outcome is Outcome.CLEAR and result.error is None
        return clear or result.policy_id not in self._masking

    async def of_definitions(self, definitions: Definitions) -> Verdicts:
        """Of a list of tools without an answer around it."""
        value: JsonObject = {"tool": self.call.tool, "operation": self.call.operation}
        return await self._verdicts(with_definitions(JudgedContent(value), definitions))

    async def of_head(self, head: AnswerHead, trailers: tuple[tuple[bytes, bytes], ...] = ()) -> Verdicts:
        return await self._verdicts(judged_head(self.call, head, trailers))

    async def of_messages(self, head: AnswerHead, stretch: bytes, windows: Windows) -> Verdicts:
        content = await asyncio.to_thread(judged_messages, self.call, head, stretch, windows)
        windows.keep()
        return await self._verdicts(content)

    async def of_pieces(self, head: AnswerHead, pieces: bytes, windows: Windows) -> Verdicts:
        return await self._verdicts(await asyncio.to_thread(judged_pieces, self.call, head, pieces, windows))

    def not_inspected(self, why: str) -> Verdicts:
        """No policy could be evaluated; each entry says why."""
        results = tuple(_not_inspected(policy, why) for policy in self.policies)
        return Verdicts(results, f"it could not be inspected: {why}")

    async def _verdicts(self, content: JudgedContent) -> Verdicts:
        if content.unread is not None:
            return self.not_inspected(content.unread)
        limits_pass = content.other_tools is None and self.lets_unscannable_pass
        content = replace(content, agent_id=self.agent_id, limits_pass=limits_pass)
        results = await self.evaluator.evaluate_all(self.policies, content, self.providers)
        return Verdicts(tuple(results), self._objections(results))

    def _objections(self, results: Sequence[NlpResult]) -> str | None:
        names = {policy.policy_id: policy.draft.name for policy in self.policies}
        masking = self._masking
        objecting = [result for result in results if result.decision is not Verdict.ALLOW]
        if not objecting:
            # One that was not asked because another had said deny is no approval; then another has.
            return None if len(results) == len(self.policies) else "not every policy was asked"
        return "; ".join(
            f"{names[one.policy_id]}: {_said(one)}" + unmasked(one, masks=one.policy_id in masking) for one in objecting
        )


def answer_judge(evaluator: Evaluator, state: OrganizationState, action: ReadAction) -> AnswerJudge | None:
    """None where no policy looks at the answer of this call."""
    policies = [
        policy
        for policy in state.nlp_policies
        if policy.draft.scope.covers(
            tool=action.tool,
            operation=action.operation,
            agent_id=action.agent_id,
            direction=Direction.RESPONSE,
        )
        and not (action.is_published_page and _looks_for_instructions(policy))
    ]
    if not policies:
        return None
    call = AnsweredCall(action.tool, action.operation)
    return AnswerJudge(evaluator, policies, state.nlp_providers, call, action.agent_id)


def _looks_for_instructions(policy: NlpPolicy) -> bool:
    return policy.draft.provider == EMBEDDED and policy.draft.model == EmbeddedModel.INJECTION.value


def _shown(entry: JsonObject) -> JsonObject:
    written = ("reasoning", "issues") if "question" in entry else ()
    return {name: value for name, value in entry.items() if name not in written}


def _said(result: NlpResult) -> str:
    if result.error == Failure.UNSCANNABLE:
        return "it holds what cannot be opened"
    if result.outcome is Outcome.ERROR:
        return f"could not be asked ({result.error})"
    if result.engine == _JUDGE or not result.issues:
        return "a match"
    return ", ".join(result.issues)


def _entry(result: NlpResult) -> JsonObject:
    entry = result.record()
    return entry if result.decision is Verdict.ALLOW else {**entry, "decision": _WITHHOLD}


def _after(earlier: NlpResult | None, later: NlpResult) -> NlpResult:
    """What one policy says of both stretches: that the first has tags, or was masked, is kept, whatever the second
    holds."""
    if earlier is None:
        return later
    did = bool(earlier.tags or earlier.to_mask)
    told = earlier if did and later.outcome is Outcome.CLEAR else later
    return replace(
        told,
        latency_ms=round(earlier.latency_ms + later.latency_ms, 3),
        issues=_each_once(earlier.issues, told.issues) if did else told.issues,
        tags=_each_once(earlier.tags, told.tags),
    )


def _each_once(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _not_inspected(policy: NlpPolicy, why: str) -> NlpResult:
    return NlpResult(
        policy_id=policy.policy_id,
        version=policy.version,
        provider=policy.draft.provider,
        model=policy.model,
        outcome=Outcome.ERROR,
        decision=policy.draft.on_error,
        risk_score=1.0,
        confidence=0.0,
        issues=(),
        reasoning=f"not inspected: {why}",
        engine="none",
        latency_ms=0.0,
        error=Failure.NOT_INSPECTED.value,
    )
