"""Bodies of /v1/dry-run and /admin/policies/{id}/simulate."""

import base64
import binascii
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.policies.explain import Explanation
from headgate.policies.model import REGO_MAX_BYTES, Decision, PolicyMode, PolicyVerdict, RiskLevel, Verdict
from headgate.protocols.draft import ActionDraft
from headgate.workflows.dry_run import HypotheticalCall, http_call_of

_URL_MAX_CHARACTERS = 16_384


class HttpRequest(BaseModel):
    """A request as an agent would send it through the gate."""

    model_config = ConfigDict(extra="forbid")

    method: str = Field(default="GET", min_length=1, max_length=32)
    url: str = Field(min_length=1, max_length=_URL_MAX_CHARACTERS)
    headers: dict[str, str] = Field(default_factory=dict, max_length=200)
    body: str | None = None
    body_base64: str | None = Field(default=None, description="Instead of body, where it is no text.")

    def bytes_of_body(self) -> bytes:
        if self.body is not None and self.body_base64 is not None:
            raise ValidationError("http: body or body_base64, not both", details={"field": "http.body"})
        if self.body_base64 is None:
            return (self.body or "").encode()
        try:
            return base64.b64decode(self.body_base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValidationError(
                "http.body_base64 is not base64 (RFC 4648)", details={"field": "http.body_base64", "reason": str(error)}
            ) from error


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid")

    action: dict[str, Any]


class DryRunBody(BaseModel):
    """POST /v1/dry-run: ``action`` (or ``input.action``), the body of POST /v1/actions, or ``http``."""

    model_config = ConfigDict(extra="forbid")

    action: dict[str, Any] | None = Field(default=None, description="The body of POST /v1/actions.")
    input: _Input | None = None
    http: HttpRequest | None = None
    agent_id: str | None = Field(default=None, description="Whose call it would be; default: an unknown agent's.")
    trace: bool = Field(default=False, description="With the value of every rule.")

    @model_validator(mode="after")
    def _one_call(self) -> "DryRunBody":
        if [self.action, self.input, self.http].count(None) != 2:
            raise ValueError("exactly one of action, input and http says what the call would be")
        return self

    def call(self) -> HypotheticalCall:
        """Raises ValidationError."""
        http = self.http
        sent = None if http is None else http_call_of(http.method, http.url, http.headers, http.bytes_of_body())
        action: JsonObject | None = self.input.action if self.input is not None else self.action
        agent_id = None if self.agent_id is None else parse_id(IdPrefix.AGENT, self.agent_id)
        return HypotheticalCall(action, sent, agent_id)


class SimulationBody(DryRunBody):
    """POST /admin/policies/{id}/simulate: the same, of one policy: the saved one, a version of it, or a draft."""

    rego_policy: str | None = Field(default=None, min_length=1, max_length=REGO_MAX_BYTES)
    version: int | None = Field(default=None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _names(cls, body: Any) -> Any:
        if isinstance(body, dict) and "content" in body and "rego_policy" not in body:
            return {("rego_policy" if name == "content" else name): value for name, value in body.items()}
        return body

    @model_validator(mode="after")
    def _one_text(self) -> "SimulationBody":
        if self.rego_policy is not None and self.version is not None:
            raise ValueError("rego_policy or version, not both")
        return self


class RequirementAnswer(BaseModel):
    policy_id: str
    policy_version: int
    required_approvals: int
    assignees: list[str]


class ApprovalTermsAnswer(BaseModel):
    """What an approval would take; a time is null where no policy names one."""

    requirements: list[RequirementAnswer]
    hold_seconds: float | None
    expires_in_seconds: int | None
    escalate_after_seconds: int | None


class ActionSeen(BaseModel):
    """The call as the policies see it (``input``, less the agent)."""

    tool: str
    operation: str
    params: dict[str, Any]
    source: str
    effect: str | None
    http: dict[str, Any] | None = None


class PolicyWord(BaseModel):
    """What one policy says. ``decision`` null: nothing. ``decides``: it is among those that made the decision."""

    policy_id: str
    name: str
    version: int
    priority: int
    mode: PolicyMode
    decision: Verdict | None
    reason: str | None
    messages: list[str]
    risk_level: RiskLevel | None
    rules: list[str] = Field(description="Which of deny, require_approval and allow say something.")
    error: bool
    asked: bool = Field(description="The live path would have asked it: an earlier priority, or the index, may not.")
    decides: bool
    evaluation_time_ms: float
    trace: list[dict[str, Any]] | None = Field(default=None, description="Every rule: rule, defined, value, error.")


class DecisionAnswer(BaseModel):
    """The decision object of the specification, with what a requested approval would take."""

    decision: Verdict
    reason: str
    risk_level: RiskLevel
    policy_id: str | None
    policy_name: str | None
    evaluation_time_ms: float
    approval: ApprovalTermsAnswer | None


class DryRunAnswer(DecisionAnswer):
    rules: list[str] = Field(description="The rules that made the decision, as policy name and rule.")
    policies: list[PolicyWord]
    action: ActionSeen
    generation: int


class SimulationAnswer(DecisionAnswer):
    """As if this policy were the only one (one that says nothing: deny); ``said`` is its own word, null for none."""

    said: Verdict | None
    version: int | None = Field(description="null: a draft.")
    rules: list[str]
    messages: list[str]
    error: bool
    trace: list[dict[str, Any]] | None
    overall: DecisionAnswer = Field(description="What all enabled policies would decide, this one among them.")
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
                RequirementAnswer(
                    policy_id=one.policy_id,
                    policy_version=one.policy_version,
                    required_approvals=one.required_approvals,
                    assignees=list(one.assignees),
                )
                for one in decision.requirements
            ],
            hold_seconds=decision.hold_seconds,
            expires_in_seconds=decision.expires_in_seconds,
            escalate_after_seconds=decision.escalate_after_seconds,
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
