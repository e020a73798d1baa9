"""Applies content policies to what the rules do not deny. They only make a decision stricter."""

from collections.abc import Callable, Mapping, Sequence
from time import time
from typing import Final

from msgspec.structs import replace

from headgate.detectors.assess import EXACT_MODELS
from headgate.detectors.document import JoinedText
from headgate.gate.candidate import BoundCandidate
from headgate.gate.judged_content import judged_content, messages_of
from headgate.gate.organization_state import OrganizationState
from headgate.gate.pipeline import Recall
from headgate.judges.model import Failure, Provider
from headgate.kernel.canonical_json import JsonObject
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.evaluate import Evaluator, decision_of
from headgate.nlp_policies.model import EMBEDDED, Direction, NlpDraft, NlpPolicy, NlpResult, OnMatch, Outcome
from headgate.nlp_policies.recall import NOTHING_RECALLED, Recalled
from headgate.nlp_policies.request_window import RequestWindows, Sent
from headgate.nlp_policies.shared_requests import SharedRequests
from headgate.policies.model import Decision, Requirement, RiskLevel, Verdict
from headgate.protocols.draft import ActionDraft

_AT_LEAST_HIGH: Final = {RiskLevel.LOW: RiskLevel.HIGH, RiskLevel.MEDIUM: RiskLevel.HIGH}


class ContentJudge:
    """Of one process: its evaluator's judges, budgets and cache are shared by all calls."""

    def __init__(
        self, evaluator: Evaluator, clock: Callable[[], float] = time, shared: SharedRequests | None = None
    ) -> None:
        self._evaluator = evaluator
        self._windows = RequestWindows(clock)
        self._shared = shared

    async def tightened(
        self, state: OrganizationState, candidate: BoundCandidate, decision: Decision, recall: Recall
    ) -> Decision:
        """``decision``, or a stricter one, with an entry for each policy that ran. Raises what ``recall`` raises
        and nothing else: what cannot be judged is decided by each policy's ``on_error``.
        """
        policies = concerned_policies(state, candidate.draft, candidate.agent_id)
        if not policies:
            return decision
        recalled = NOTHING_RECALLED
        if any(not policy.draft.is_local for policy in policies):
            recalled = await recall()
        content = replace(judged_content(candidate.draft), agent_id=candidate.agent_id)
        agent = state.org_id, candidate.agent_id
        sent, told = None, None
        if reads_joined_texts(policies):
            sent = self._windows.read(candidate.digest.hex(), content.by_field())
            elsewhere: list[Sent] = []
            if self._shared is not None:
                elsewhere, told = await self._shared.tell(*agent, sent, knows_own=self._windows.knows(*agent))
            joined = self._windows.enter(*agent, sent, elsewhere)
            if candidate.arrived is not None:
                joined = _each_once(joined, candidate.arrived.joined(messages_of(content.value)))
            content = replace(content, joined=joined)
        results = await _ask(self._evaluator, policies, content, state.nlp_providers, recalled)
        if sent is not None and decision_of(results) is not Verdict.ALLOW:
            self._windows.leave(*agent, sent.key)
            if self._shared is not None and told is not None:
                await self._shared.take_back(*agent, told)
        return tighten(decision, results, policies)


def _each_once(of_agent: tuple[JoinedText, ...], of_connection: tuple[JoinedText, ...]) -> tuple[JoinedText, ...]:
    """Without what an agent's last requests make, where a connection's messages make it and more."""
    known: dict[str, list[tuple[str, ...]]] = {}
    for one in of_connection:
        known.setdefault(one.text, []).append(one.before)
    return (
        *of_connection,
        *(
            one
            for one in of_agent
            if all(before[-len(one.before) :] != one.before for before in known.get(one.text, ()))
        ),
    )


def reads_joined_texts(policies: Sequence[NlpPolicy]) -> bool:
    """Whether one of them finds what is cut over several requests or messages."""
    return any(policy.draft.provider == EMBEDDED and policy.model in EXACT_MODELS for policy in policies)


def concerned_policies(state: OrganizationState, draft: ActionDraft, agent_id: str) -> list[NlpPolicy]:
    """Those whose scope covers what is about to be sent."""
    return [
        policy
        for policy in state.nlp_policies
        if policy.draft.scope.covers(
            tool=draft.tool, operation=draft.operation, agent_id=agent_id, direction=Direction.REQUEST
        )
    ]


async def judge(
    evaluator: Evaluator,
    policies: Sequence[NlpPolicy],
    draft: ActionDraft,
    providers: Mapping[str, Provider],
    recalled: Recalled = NOTHING_RECALLED,
) -> list[NlpResult]:
    """What each of them says of everything that would be sent. Raises nothing."""
    return await _ask(evaluator, policies, judged_content(draft), providers, recalled)


async def _ask(
    evaluator: Evaluator,
    policies: Sequence[NlpPolicy],
    content: JudgedContent,
    providers: Mapping[str, Provider],
    recalled: Recalled,
) -> list[NlpResult]:
    results = await evaluator.evaluate_all(policies, content, providers, recalled)
    if content.unread is None:
        return results
    return [_not_inspected(one, policies, content.unread) for one in results]


def unmasked(result: NlpResult, *, masks: bool) -> str:
    """What a reviewer, or the agent, reads after the reason of a policy that would have masked what it found."""
    return ", which cannot be masked here" if masks and result.outcome is Outcome.MATCH else ""


def tighten(decision: Decision, results: Sequence[NlpResult], policies: Sequence[NlpPolicy]) -> Decision:
    """What the rules and the policies about content say together; never less strict than the rules."""
    entries: tuple[JsonObject, ...] = tuple(result.record() for result in results)
    took_ms = round(decision.evaluation_time_ms + max((result.latency_ms for result in results), default=0.0), 3)
    to_mask = tuple(one for result in results for one in result.to_mask)
    judged = replace(decision, nlp=entries, evaluation_time_ms=took_ms, to_mask=to_mask)
    verdict = decision_of(results)
    if verdict is Verdict.ALLOW or decision.verdict is Verdict.DENY:
        return judged
    objecting = [result for result in results if result.decision is verdict]
    drafts = {policy.policy_id: policy.draft for policy in policies}
    reason = "; ".join(_reason(one, drafts[one.policy_id]) for one in objecting)
    risk_level = _AT_LEAST_HIGH.get(decision.risk_level, decision.risk_level)
    if verdict is Verdict.DENY:
        return replace(
            judged,
            verdict=Verdict.DENY,
            reason=reason,
            risk_level=risk_level,
            policy_id=objecting[0].policy_id,
            requirements=(),
        )
    requirements = tuple(Requirement(result.policy_id, result.version, 1) for result in objecting)
    if decision.verdict is Verdict.REQUIRE_APPROVAL:
        return replace(
            judged,
            reason=f"{decision.reason}; {reason}",
            risk_level=risk_level,
            requirements=(*decision.requirements, *requirements),
        )
    return replace(
        judged,
        verdict=Verdict.REQUIRE_APPROVAL,
        reason=reason,
        risk_level=risk_level,
        policy_id=objecting[0].policy_id,
        requirements=requirements,
    )


def _reason(result: NlpResult, draft: NlpDraft) -> str:
    return f"{draft.name}: {result.reasoning}" + unmasked(result, masks=draft.on_match is OnMatch.MASK)


def _not_inspected(result: NlpResult, policies: Sequence[NlpPolicy], unread: str) -> NlpResult:
    """Nothing found is no proof where not everything was read."""
    if result.decision is not Verdict.ALLOW:
        return result
    on_error = next(policy.draft.on_error for policy in policies if policy.policy_id == result.policy_id)
    return replace(
        result,
        outcome=Outcome.ERROR,
        decision=on_error,
        risk_score=1.0,
        confidence=0.0,
        reasoning=f"not inspected: {unread}",
        error=Failure.NOT_INSPECTED.value,
    )
