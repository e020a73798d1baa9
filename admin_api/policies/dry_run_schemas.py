"""Answers of /v1/dry-run and /admin/policies/{id}/simulate."""

import json
from typing import Any, Final

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.gate.rehearse_content import RehearsedPolicy
from headgate.judges.model import NO_USAGE, Failure
from headgate.nlp_policies.model import Outcome
from headgate.policies.explain import Explanation
from headgate.policies.model import Decision, PolicyMode, PolicyVerdict, RiskLevel, Verdict
from headgate.protocols.draft import ActionDraft

_NEVER_SENT: Final = frozenset((Failure.BREAKER_OPEN.value, Failure.BUDGET_EXHAUSTED.value, Failure.TOO_LARGE.value))


class WouldRequireAnswer(BaseModel):
    policy_id: str
    policy_version: int
    required_approvals: int
    assignees: list[str]
    denials_required: int
    roles: dict[str, int] = Field(description="Number of approvals that must come from each group.")
    separation_of_duties: list[str]
    escalate_to: list[str]


class ApprovalTermsAnswer(BaseModel):
    """The requirements of an approval. A time is null if no policy sets one."""

    requirements: list[WouldRequireAnswer]
    hold_seconds: float | None
    expires_in_seconds: int | None
    escalate_after_seconds: int | None
    remind_after_seconds: int | None


class ActionSeen(BaseModel):
    """The call as the policies see it (``input``, less the agent)."""

    tool: str
    operation: str
    params: dict[str, Any]
    source: str
    effect: str | None
    http: dict[str, Any] | None = None


class PolicyWord(BaseModel):
    """The result of one policy. ``decision`` null: none. ``decides``: it is among the policies that decided."""

    policy_id: str
    name: str
    version: int
    priority: int
    mode: PolicyMode
    decision: Verdict | None
    reason: str | None
    messages: list[str]
    risk_level: RiskLevel | None
    rules: list[str] = Field(description="Which of deny, require_approval and allow have a result.")
    error: bool
    asked: bool = Field(
        description="True if a real call would evaluate it. An earlier priority or the index can prevent this."
    )
    decides: bool
    evaluation_time_ms: float
    trace: list[dict[str, Any]] | None = Field(default=None, description="Every rule: rule, defined, value, error.")


class JudgeQuestion(BaseModel):
    """What a language model was asked, or, where the answer was known from before (``cached``), had been."""

    policy: str
    action: dict[str, Any] = Field(description="The evaluated content, with secrets masked.")
    requested: bool = Field(description="True if a request was sent to the provider.")
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class NlpWord(BaseModel):
    """What one NLP policy says. ``decision`` null: it was not asked (``asked``: false), and so the decision may be
    milder than that of the live path; or another's deny ended it."""

    policy_id: str
    name: str
    version: int
    provider: str
    model: str
    asked: bool
    outcome: Outcome | None
    decision: str | None = Field(description="allow, tag, require_approval or deny.")
    score: float | None
    issues: list[str]
    reasoning: str | None
    error: str | None
    latency_ms: float | None
    cached: bool
    question: JudgeQuestion | None


class WouldDecideAnswer(BaseModel):
    """The decision object of the specification, with what a requested approval would take."""

    decision: Verdict
    reason: str
    risk_level: RiskLevel
    policy_id: str | None
    policy_name: str | None
    evaluation_time_ms: float
    approval: ApprovalTermsAnswer | None


class DryRunAnswer(WouldDecideAnswer):
    rules: list[str] = Field(description="The deciding rules, as policy name and rule.")
    policies: list[PolicyWord]
    nlp: list[NlpWord] = Field(
        description="The NLP policies that concern the call, unless the rules deny it, which ends everything."
    )
    action: ActionSeen
    generation: int


class SimulationAnswer(WouldDecideAnswer):
    """As if this policy were the only one (one that says nothing: deny); ``said`` is its own word, null for none."""

    said: Verdict | None
    version: int | None = Field(description="Null: a draft.")
    rules: list[str]
    messages: list[str]
    error: bool
    trace: list[dict[str, Any]] | None
    warnings: list[str] = Field(description="The warnings that saving this policy has.")
    overall: WouldDecideAnswer = Field(description="The decision of all enabled policies, including this one.")
    nlp: list[NlpWord] = Field(description="The NLP policies that are part of overall.")
    action: ActionSeen


def action_seen(draft: ActionDraft, shown: dict[str, Any] | None) -> ActionSeen:
    return ActionSeen(
        tool=draft.tool,
        operation=draft.operation,
        params=draft.params,
        source=draft.source.value,
        effect=draft.effect,
        http=shown,
    )


def decision_members(decision: Decision, names: dict[str, str]) -> dict[str, Any]:
    approval = None
    if decision.verdict is Verdict.REQUIRE_APPROVAL:
        approval = ApprovalTermsAnswer(
            requirements=[
                WouldRequireAnswer(
                    policy_id=one.policy_id,
                    policy_version=one.policy_version,
                    required_approvals=one.required_approvals,
                    assignees=list(one.assignees),
                    denials_required=one.denials_required,
                    roles={slot.group: slot.count for slot in one.roles},
                    separation_of_duties=[duty.value for duty in one.separation_of_duties],
                    escalate_to=list(one.escalate_to),
                )
                for one in decision.requirements
            ],
            hold_seconds=decision.hold_seconds,
            expires_in_seconds=decision.expires_in_seconds,
            escalate_after_seconds=decision.escalate_after_seconds,
            remind_after_seconds=decision.remind_after_seconds,
        )
    return {
        "decision": decision.verdict,
        "reason": decision.reason,
        "risk_level": decision.risk_level,
        "policy_id": decision.policy_id,
        "policy_name": None if decision.policy_id is None else names.get(decision.policy_id),
        "evaluation_time_ms": decision.evaluation_time_ms,
        "approval": approval,
    }


def policy_word(explanation: Explanation, *, asked: bool, decides: bool, trace: bool) -> PolicyWord:
    policy, verdict = explanation.policy, explanation.verdict
    return PolicyWord(
        policy_id=policy.policy_id,
        name=policy.name,
        version=policy.version,
        priority=policy.priority,
        mode=policy.mode,
        decision=verdict.verdict,
        reason=verdict.explanation(),
        messages=list(verdict.messages),
        risk_level=verdict.risk_level,
        rules=list(explanation.rules),
        error=verdict.error is not None,
        asked=asked,
        decides=decides,
        evaluation_time_ms=explanation.time_ms,
        trace=[one.record() for one in explanation.trace] if trace else None,
    )


def spoke(decision: Decision, verdict: PolicyVerdict) -> bool:
    """Whether this policy is among those whose word the decision is."""
    return any(one.policy_id == verdict.policy_id and one.verdict is decision.verdict for one in decision.spoken)


def nlp_word(rehearsed: RehearsedPolicy) -> NlpWord:
    policy, result = rehearsed.policy, rehearsed.result
    return NlpWord(
        policy_id=policy.policy_id,
        name=policy.draft.name,
        version=policy.version,
        provider=policy.draft.provider,
        model=policy.model,
        asked=not rehearsed.is_left_out,
        outcome=None if result is None else result.outcome,
        decision=None if result is None else result.action,
        score=None if result is None else result.risk_score,
        issues=[] if result is None else list(result.issues),
        reasoning=None if result is None else result.reasoning,
        error=None if result is None else result.error,
        latency_ms=None if result is None else result.latency_ms,
        cached=result is not None and result.cached,
        question=_question(rehearsed),
    )


def _question(rehearsed: RehearsedPolicy) -> JudgeQuestion | None:
    question, result = rehearsed.question, rehearsed.result
    if question is None:
        return None
    usage = NO_USAGE if result is None else result.usage
    return JudgeQuestion(
        policy=question.policy,
        action=json.loads(question.action),
        requested=result is None or not (result.cached or result.error in _NEVER_SENT),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=None if result is None else result.cost_usd,
    )
