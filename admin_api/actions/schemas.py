"""Bodies about actions (specification, "Action response" and "Action detail response").

Reading also shows tool, operation and updated_at, as the reference example does; the answer to POST does not
(semantics.md, "What the contract leaves open").
"""

from datetime import datetime

from pydantic import BaseModel, Field

from admin_api.actions.delegation_schemas import DelegationAnswer
from headgate.actions.model import Action, ActionApproval, ActionDetail, Execution, ExecutionStatus, RecordedDecision
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.model import Decision
from headgate.workflows.submit_action import SubmittedAction


class DecisionAnswer(BaseModel):
    decision: str
    reason: str
    risk_level: str
    policy_id: str | None = Field(description="Null: no policy spoke.")
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


class ActionAnswer(BaseModel):
    id: str
    agent_id: str
    status: str
    tool: str
    operation: str
    decision: DecisionAnswer
    approval_id: str | None
    created_at: datetime
    updated_at: datetime
    execution: ExecutionAnswer | None
    is_duplicate: bool | None


class RequestAnswer(BaseModel):
    """What was asked for, with secrets masked; ``http`` where Headgate makes the call."""

    tool: str
    operation: str
    params: JsonObject
    agent_id: str
    context: JsonObject | None
    delegation: JsonObject | None
    http: JsonObject | None


class ActionApprovalAnswer(BaseModel):
    id: str
    status: str
    approver_id: str | None
    decided_at: datetime | None
    expires_at: datetime
    comment: str | None = Field(description="What whoever decided it wrote: of a denial, its reason.")
    edited_by: str | None = Field(description="Who changed the params before they were approved.")
    edited_at: datetime | None


class ActionDetailAnswer(ActionAnswer):
    request: RequestAnswer
    body: str = Field(
        description="Where request.params and the result are: clear; kept (encrypted apart, opened for this answer);"
        " dropped (their time was up) or erased (somebody asked for it): then they are empty."
    )
    approved_params: JsonObject | None = Field(
        description="What was approved, where a reviewer has edited it: carry this out, and not request.params."
    )
    approval: ActionApprovalAnswer | None
    delegation_count: int
    parent_action_id: str | None
    delegation: DelegationAnswer | None = Field(description="Null: it was delegated by nobody and to nobody.")


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
        decision=_recorded(original.decision),
        approval_id=original.approval_id,
        created_at=original.created_at,
        execution=_execution(original.execution),
        is_duplicate=True,
    )


def action_answer(action: Action) -> ActionAnswer:
    return ActionAnswer(
        id=action.action_id,
        agent_id=action.agent_id,
        status=action.status.value,
        tool=action.tool,
        operation=action.operation,
        decision=_recorded(action.decision),
        approval_id=action.approval_id,
        created_at=action.created_at,
        updated_at=action.updated_at,
        execution=_execution(action.execution),
        is_duplicate=None,
    )


def action_detail_answer(detail: ActionDetail, delegation: DelegationAnswer | None) -> ActionDetailAnswer:
    action = detail.action
    return ActionDetailAnswer(
        **dict(action_answer(action)),
        request=RequestAnswer(
            tool=action.tool,
            operation=action.operation,
            params=action.request.params,
            agent_id=action.agent_id,
            context=action.request.context,
            delegation=action.request.delegation,
            http=action.request.http,
        ),
        body=action.body_state,
        approved_params=_approved_params(detail.approval),
        approval=_approval(detail.approval),
        delegation_count=detail.delegation_count,
        parent_action_id=action.parent_action_id,
        delegation=delegation,
    )


def _decided(decision: Decision) -> DecisionAnswer:
    return DecisionAnswer(
        decision=decision.verdict.value,
        reason=decision.reason,
        risk_level=decision.risk_level.value,
        policy_id=decision.policy_id,
        evaluation_time_ms=decision.evaluation_time_ms,
    )


def _recorded(decision: RecordedDecision) -> DecisionAnswer:
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


def _approval(approval: ActionApproval | None) -> ActionApprovalAnswer | None:
    if approval is None:
        return None
    return ActionApprovalAnswer(
        id=approval.approval_id,
        status=approval.status,
        approver_id=approval.approver_id,
        decided_at=approval.decided_at,
        expires_at=approval.expires_at,
        comment=approval.comment,
        edited_by=None if approval.edit is None else approval.edit.by,
        edited_at=None if approval.edit is None else approval.edit.at,
    )


def _approved_params(approval: ActionApproval | None) -> JsonObject | None:
    return None if approval is None or approval.edit is None else approval.edit.params
