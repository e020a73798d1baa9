"""Bodies about actions (specification, "Action response" and "Action detail response").

Reading also shows tool, operation and updated_at, as the reference example does; the answer to POST does not
(semantics.md, "What the contract leaves open"). Members that the specification does not name are shown to those who
ask with ``?expand=all``; otherwise they stay unset, and routes leave unset members out of their answers.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import Field

from admin_api.actions.body_schemas import UnparsedBodyAnswer, unparsed_body_answer
from admin_api.actions.delegation_schemas import DelegationAnswer
from admin_api.actions.found_canaries import FoundCanaryAnswer
from admin_api.actions.policy_say import PolicySayAnswer
from admin_api.actions.timeline import TimelineStepAnswer
from admin_api.json_values import StoredObject
from admin_api.schema import BaseModel
from headgate.actions.model import Action, ActionApproval, ActionDetail, Execution, ExecutionStatus, RecordedDecision
from headgate.actions.unparsed_body import read_unparsed_body
from headgate.gate.submit_action import SubmittedAction
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.ids import IdPrefix, id_pattern
from headgate.policies.model import Decision

ACTION_REQUEST: Final = {
    "type": "object",
    "required": ["tool", "operation", "params"],
    "additionalProperties": False,
    "properties": {
        "tool": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[a-z][a-z0-9_]*$"},
        "operation": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[a-z][a-z0-9_]*$"},
        "params": {"type": "object", "additionalProperties": True},
        "context": {"type": "object", "additionalProperties": True},
        "idempotency_key": {"type": "string", "minLength": 1, "maxLength": 128},
        "parentActionId": {"type": "string", "pattern": id_pattern(IdPrefix.ACTION)},
        "delegationContext": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "orchestratorId": {"type": "string"},
                "workflowId": {"type": "string"},
                "stepName": {"type": "string"},
            },
        },
    },
}
"""The body of POST /v1/actions, which ``parse_submission`` reads."""


class DecisionAnswer(BaseModel):
    decision: str
    reason: str
    risk_level: str
    policy_id: str | None = Field(description="Null: no policy decided.")
    evaluation_time_ms: float


class ExecutionAnswer(BaseModel):
    id: str
    status: str
    attempts: int
    started_at: datetime | None
    completed_at: datetime | None
    error: str | None
    result: JsonValue


class SubmittedAnswer(BaseModel):
    """The answer to POST /v1/actions."""

    id: str
    status: str
    decision: DecisionAnswer
    approval_id: str | None
    created_at: datetime
    execution: ExecutionAnswer | None
    is_duplicate: bool


type Expansion = Literal["all"] | None
type CurrentExpansion = Annotated[
    Expansion, Query(description="all: also the members that are marked so in the answer's description.")
]

_EXPANDED: Final = "With expand=all"


class MaskedAnswer(BaseModel):
    """What content policies with on_match mask replaced in the request before it was sent."""

    count: int
    kinds: list[str]


class ActionAnswer(BaseModel):
    id: str
    status: str
    tool: str
    operation: str
    decision: DecisionAnswer
    approval_id: str | None
    created_at: datetime
    updated_at: datetime
    execution: ExecutionAnswer | None
    is_duplicate: bool | None
    agent_id: str | None = Field(default=None, description=_EXPANDED)
    masked: MaskedAnswer | None = Field(
        default=None,
        description=f"{_EXPANDED}: what was replaced in the request; the request is the one that was sent."
        " Null: nothing. For the answer, see execution.result.inspection.masked.",
    )
    tags: list[str] | None = Field(
        default=None,
        description=f"{_EXPANDED}: kinds that content policies with on_match tag found in the call and its answer.",
    )


class RequestAnswer(BaseModel):
    """The requested action, with secrets masked."""

    tool: str
    operation: str
    params: StoredObject = Field(
        description="Where a reviewer has edited the action: what was approved, which is what to carry out. With"
        " expand=all: what was asked for, beside approved_params."
    )
    agent_id: str
    context: StoredObject | None
    delegation: StoredObject | None = Field(default=None, description=_EXPANDED)
    http: StoredObject | None = Field(default=None, description=f"{_EXPANDED}; where Headgate makes the call.")
    provenance: StoredObject | None = Field(
        default=None,
        description=f"{_EXPANDED}: for each value that somebody showed to the agent before, by its path, where it was"
        " first seen; null where no policy asks for it.",
    )
    mcp: StoredObject | None = Field(
        default=None, description=f"{_EXPANDED}; of an MCP message: input.mcp, as policies read it."
    )
    unparsed_body: UnparsedBodyAnswer | None = Field(
        default=None,
        description=f"{_EXPANDED}; of a held call whose params do not show its body: what /v1/actions/{{id}}/body has.",
    )


class ActionApprovalAnswer(BaseModel):
    id: str
    status: str
    approver_id: str | None
    decided_at: datetime | None
    expires_at: datetime
    comment: str | None = Field(
        default=None, description=f"{_EXPANDED}: the approver's comment; of a denial, its reason."
    )
    approver: str | None = Field(default=None, description=f"{_EXPANDED}: the approver's e-mail address, or else name.")
    edited_by: str | None = Field(
        default=None, description=f"{_EXPANDED}: who changed the params before they were approved."
    )
    edited_at: datetime | None = Field(default=None, description=_EXPANDED)


class ActionDetailAnswer(ActionAnswer):
    request: RequestAnswer
    approval: ActionApprovalAnswer | None
    delegation_count: int
    body: str | None = Field(
        default=None,
        description=f"{_EXPANDED}: state of request.params and of the result: clear; kept (stored encrypted, decrypted"
        " for this answer); dropped (retention ended) or erased (on request): then they are empty.",
    )
    approved_params: StoredObject | None = Field(
        default=None, description=f"{_EXPANDED}: what was approved, where a reviewer has edited it."
    )
    parent_action_id: str | None = Field(default=None, description=_EXPANDED)
    delegation: DelegationAnswer | None = Field(
        default=None, description=f"{_EXPANDED}; null: the action is part of no delegation."
    )
    policies: list[PolicySayAnswer] | None = Field(
        default=None,
        description=f"{_EXPANDED}: the result of each rule policy that decided and of each content policy"
        " that ran; null for an agent's key.",
    )
    canaries: list[FoundCanaryAnswer] | None = Field(
        default=None,
        description=f"{_EXPANDED}: the canary tokens that the call held, which denied it; null for an agent's key.",
    )
    timeline: list[TimelineStepAnswer] | None = Field(
        default=None,
        description=f"{_EXPANDED}: each step from the submission to the outcome, oldest first: decisions, votes, edits,"
        " reassignments, escalations, attempts; null for an agent's key.",
    )
    stopped: str | None = Field(
        default=None,
        description=f"{_EXPANDED}, for an agent's key: the stop because of which the action must not be carried out"
        " now, approved or not; null: there is none.",
    )


def submitted_answer(submitted: SubmittedAction) -> SubmittedAnswer:
    return SubmittedAnswer(
        id=submitted.action_id,
        status=submitted.status.value,
        decision=_decided(submitted.decision),
        approval_id=submitted.approval_id,
        created_at=submitted.created_at,
        execution=_queued(submitted.execution_id),
        is_duplicate=False,
    )


def duplicate_answer(original: Action) -> SubmittedAnswer:
    """The original's current state."""
    return SubmittedAnswer(
        id=original.action_id,
        status=original.status.value,
        decision=decision_answer(original.decision),
        approval_id=original.approval_id,
        created_at=original.created_at,
        execution=_execution(original.execution),
        is_duplicate=True,
    )


def action_answer(action: Action, expand: Expansion) -> ActionAnswer:
    return ActionAnswer(**_members(action, expand))


def action_detail_answer(
    detail: ActionDetail, expand: Expansion, delegation: DelegationAnswer | None
) -> ActionDetailAnswer:
    action, approved = detail.action, _approved_params(detail.approval)
    request = action.request
    further: dict[str, Any] = {}
    asked_for: dict[str, Any] = {
        "tool": action.tool,
        "operation": action.operation,
        "params": request.params if approved is None else approved,
        "agent_id": action.agent_id,
        "context": request.context,
    }
    if expand == "all":
        asked_for |= {"params": request.params, "delegation": request.delegation, "http": request.http}
        asked_for |= {"provenance": request.provenance, "mcp": request.mcp}
        asked_for |= {"unparsed_body": unparsed_body_answer(read_unparsed_body(request.unparsed_body))}
        further = {
            "body": action.body_state,
            "approved_params": approved,
            "parent_action_id": action.parent_action_id,
            "delegation": delegation,
        }
    return ActionDetailAnswer(
        **_members(action, expand),
        **further,
        request=RequestAnswer(**asked_for),
        approval=_approval(detail.approval, expand),
        delegation_count=detail.delegation_count,
    )


def _members(action: Action, expand: Expansion) -> dict[str, Any]:
    return {
        "id": action.action_id,
        "status": action.status.value,
        "tool": action.tool,
        "operation": action.operation,
        "decision": decision_answer(action.decision),
        "approval_id": action.approval_id,
        "created_at": action.created_at,
        "updated_at": action.updated_at,
        "execution": _execution(action.execution),
        "is_duplicate": None,
    } | _expanded(action, expand)


def _expanded(action: Action, expand: Expansion) -> dict[str, Any]:
    if expand != "all":
        return {}
    masked = action.decision.masked
    return {
        "agent_id": action.agent_id,
        "masked": None if masked is None else MaskedAnswer.model_validate(masked),
        "tags": list(action.tags),
    }


def _decided(decision: Decision) -> DecisionAnswer:
    return DecisionAnswer(
        decision=decision.verdict.value,
        reason=decision.reason,
        risk_level=decision.risk_level.value,
        policy_id=decision.policy_id,
        evaluation_time_ms=decision.evaluation_time_ms,
    )


def decision_answer(decision: RecordedDecision) -> DecisionAnswer:
    return DecisionAnswer(
        decision=decision.decision,
        reason=decision.reason,
        risk_level=decision.risk_level,
        policy_id=decision.policy_id,
        evaluation_time_ms=decision.evaluation_time_ms,
    )


def _queued(execution_id: str | None) -> ExecutionAnswer | None:
    if execution_id is None:
        return None
    return ExecutionAnswer(
        id=execution_id,
        status=ExecutionStatus.QUEUED.value,
        attempts=0,
        started_at=None,
        completed_at=None,
        error=None,
        result=None,
    )


def _execution(execution: Execution | None) -> ExecutionAnswer | None:
    if execution is None:
        return None
    return ExecutionAnswer(
        id=execution.execution_id,
        status=execution.status.value,
        attempts=execution.attempts,
        started_at=execution.started_at,
        completed_at=execution.completed_at,
        error=execution.error,
        result=execution.result,
    )


def _approval(approval: ActionApproval | None, expand: Expansion) -> ActionApprovalAnswer | None:
    if approval is None:
        return None
    further: dict[str, Any] = {}
    if expand == "all":
        further = {
            "comment": approval.comment,
            "approver": approval.approver,
            "edited_by": None if approval.edit is None else approval.edit.by,
            "edited_at": None if approval.edit is None else approval.edit.at,
        }
    return ActionApprovalAnswer(
        id=approval.approval_id,
        status=approval.status,
        approver_id=approval.approver_id,
        decided_at=approval.decided_at,
        expires_at=approval.expires_at,
        **further,
    )


def _approved_params(approval: ActionApproval | None) -> JsonObject | None:
    return None if approval is None or approval.edit is None else approval.edit.params
