"""The member ``context`` of one approval: what the person who decides should see beside the request."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from admin_api.actions.body_schemas import UnparsedBodyAnswer, unparsed_body_answer
from admin_api.json_values import StoredObject
from admin_api.schema import BaseModel
from headgate.actions.delegation import Chain
from headgate.actions.unparsed_body import UNPARSED_BODY, read_unparsed_body
from headgate.approvals.consequences import consequences
from headgate.approvals.context_store import Asked, SimilarDecisions
from headgate.approvals.model import Approval
from headgate.approvals.summary import summary
from headgate.approvals.visible_text import shown_object, shown_text
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.tools.describe import operation_descriptions
from headgate.tools.match import CatalogueIndex


class AgentContext(BaseModel):
    id: str
    name: str | None
    description: str | None


class ParentContext(BaseModel):
    """An action on whose behalf this one was submitted."""

    action_id: str
    agent_id: str
    agent_name: str | None
    tool: str
    operation: str
    status: str


class ReasonContext(BaseModel):
    """The result of one policy. ``score`` is set for content policies."""

    policy_id: str
    policy_name: str | None = Field(description="Null: the policy does not exist.")
    policy_version: int | None
    decision: str | None
    reason: str | None
    risk_level: str | None = Field(description="The risk that a rule policy states. Null: it states none.")
    score: float | None


class SimilarContext(BaseModel):
    approval_id: str
    status: str
    decided_at: datetime | None
    decided_by: str | None
    decided_by_name: str | None = Field(description="Email address or name. Null if no person decided.")
    comment: str | None
    outcome: str = Field(description="The status of its action.")
    same_request: bool


class SimilarDecisionsContext(BaseModel):
    """For the same agent, tool and operation, counted over the newest ``looked_at`` requests."""

    looked_at: int
    approved: int
    denied: int
    expired: int
    pending: int
    newest: list[SimilarContext]


class ContextAnswer(BaseModel):
    """``request`` is what will be sent, secrets masked; characters that nobody sees are written out, as \\u{202e}, and
    ``hidden_characters`` says where they were (JSON Pointers)."""

    summary: str
    effect: str | None = Field(description="read, write or destructive. Null: unknown")
    consequences: list[str] = Field(description="Sentences from the catalogue about the operation.")
    risk_level: str
    why: list[ReasonContext]
    agent: AgentContext
    delegation: JsonObject | None = Field(description="The agent's statement about its orchestration.")
    on_behalf_of: list[ParentContext]
    similar: SimilarDecisionsContext
    identical_pending: list[str] = Field(
        description="Open approval requests of the identical action, including this one."
    )
    request: StoredObject
    unparsed_body: UnparsedBodyAnswer | None = Field(
        description="Of a call whose params do not show its body: what /v1/actions/{id}/body has."
    )
    hidden_characters: list[str]


def context_answer(
    approval: Approval,
    asked: Asked,
    parents: Chain,
    similar: SimilarDecisions,
    identical: Sequence[str],
    catalogue: CatalogueIndex,
    policy_names: Mapping[str, str],
) -> ContextAnswer:
    hidden: list[str] = []
    request = dict(asked.request)
    body = read_unparsed_body(request.pop(UNPARSED_BODY, None))
    if approval.edit is not None:
        request["params"] = approval.edit.params
    params, http, delegation = request["params"], request.get("http"), request.get("delegation")
    effect = request.pop("effect", None)
    effect = effect if isinstance(effect, str) else None
    entry = catalogue.tools.get(asked.tool, {}).get(asked.operation)
    return ContextAnswer(
        summary=summary(
            agent=asked.agent_name or asked.agent_id,
            tool=asked.tool,
            operation=asked.operation,
            params=params if isinstance(params, dict) else {},
            http=http if isinstance(http, dict) else None,
            descriptions=operation_descriptions(catalogue),
        ),
        effect=effect,
        consequences=list(
            consequences(asked.tool, effect, is_repeatable=None if entry is None else entry.sending.repeatable)
        ),
        risk_level=approval.risk_level,
        why=[_said(one, policy_names) for one in asked.policies if isinstance(one, dict)]
        + [_judged(one, policy_names) for one in asked.nlp if isinstance(one, dict)],
        agent=AgentContext(id=asked.agent_id, name=asked.agent_name, description=asked.agent_description),
        delegation=shown_object(delegation, []) if isinstance(delegation, dict) else None,
        on_behalf_of=[
            ParentContext(
                action_id=one.action_id,
                agent_id=one.agent_id,
                agent_name=one.agent_name,
                tool=one.tool,
                operation=one.operation,
                status=one.status,
            )
            for one in parents
        ],
        similar=_similar(similar),
        identical_pending=list(identical),
        request=shown_object(request, hidden),
        unparsed_body=unparsed_body_answer(body),
        hidden_characters=hidden,
    )


def _said(policy: JsonObject, names: Mapping[str, str]) -> ReasonContext:
    version, decision = policy.get("version"), policy.get("decision")
    return ReasonContext(
        policy_id=str(policy["id"]),
        policy_name=names.get(str(policy["id"])),
        policy_version=version if isinstance(version, int) else None,
        decision=decision if isinstance(decision, str) else None,
        reason=_text(policy.get("reason")),
        risk_level=_text(policy.get("risk_level")),
        score=None,
    )


def _judged(policy: JsonObject, names: Mapping[str, str]) -> ReasonContext:
    version, score = policy.get("version"), policy.get("score")
    return ReasonContext(
        policy_id=str(policy["policy_id"]),
        policy_name=names.get(str(policy["policy_id"])),
        policy_version=version if isinstance(version, int) else None,
        decision=_text(policy.get("decision")),
        reason=_text(policy.get("reasoning")),
        risk_level=None,
        score=score if isinstance(score, int | float) else None,
    )


def _text(value: JsonValue) -> str | None:
    return shown_text(value) if isinstance(value, str) else None


def _similar(similar: SimilarDecisions) -> SimilarDecisionsContext:
    counted = similar.by_status
    return SimilarDecisionsContext(
        looked_at=similar.looked_at,
        approved=counted["approved"],
        denied=counted["denied"],
        expired=counted["expired"],
        pending=counted["pending"],
        newest=[
            SimilarContext(
                approval_id=one.approval_id,
                status=one.status,
                decided_at=one.decided_at,
                decided_by=one.decided_by,
                decided_by_name=one.decided_by_name,
                comment=one.comment,
                outcome=one.outcome,
                same_request=one.same_request,
            )
            for one in similar.newest
        ],
    )
