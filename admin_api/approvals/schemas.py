"""Bodies about approvals (specification, "Approval", "Approval routes" and "Admin approval decision")."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from admin_api.text import StorableText
from headgate.approvals.model import (
    REASON_MAX_CHARACTERS,
    Approval,
    HistoryEntry,
    Vote,
    VoteDecision,
    history,
    state_at,
)
from headgate.approvals.store import HeldAction
from headgate.approvals.voting import Outcome
from headgate.kernel.canonical_json import JsonObject
from headgate.organizations.model import User

type _Reason = Annotated[StorableText, Field(max_length=REASON_MAX_CHARACTERS)]


class ApproveRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    comment: _Reason | None = None


class DenyRequest(BaseModel):
    """The agent is told the reason."""

    model_config = ConfigDict(extra="forbid")

    reason: _Reason


class DecisionRequest(BaseModel):
    """POST /admin/approvals/{approval_id}/decision; ``reason`` is required to deny."""

    model_config = ConfigDict(extra="forbid")

    decision: VoteDecision
    reason: _Reason | None = None


class HeldActionAnswer(BaseModel):
    tool: str
    operation: str
    params: JsonObject


class HeldDecisionAnswer(BaseModel):
    """Why the action waits."""

    reason: str
    risk_level: str
    policy_id: str | None


class PersonAnswer(BaseModel):
    """A user, by id and e-mail as far as they are known; a program votes by its key's id."""

    id: str | None
    email: str | None


class HistoryAnswer(BaseModel):
    """``by`` is a voter, the agent that asked, or the execution that used the approval; null: the clock."""

    event: str
    at: datetime
    by: PersonAnswer | None
    reason: str | None


class ApprovalAnswer(BaseModel):
    """``status`` is what the approval is at this moment, expired by time included."""

    id: str
    action_id: str
    agent_id: str
    status: str
    action: HeldActionAnswer
    decision: HeldDecisionAnswer
    required_approvals: int
    current_approvals: int
    repeats: str | None = Field(description="The earlier approval of the same call, used or expired.")
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    used_at: datetime | None


class ApprovalDetailAnswer(ApprovalAnswer):
    assignees: list[PersonAnswer]
    history: list[HistoryAnswer]


class CamelApproverAnswer(BaseModel):
    user_id: str | None = Field(serialization_alias="userId")
    email: str | None
    role: str


class CamelVoteAnswer(BaseModel):
    user_id: str = Field(serialization_alias="userId")
    decision: str
    reason: str | None
    decided_at: datetime = Field(serialization_alias="decidedAt")


class CamelApprovalAnswer(BaseModel):
    """The schema's shape in camelCase."""

    id: str
    action_id: str = Field(serialization_alias="actionId")
    status: str
    required_approvals: int = Field(serialization_alias="requiredApprovals")
    current_approvals: int = Field(serialization_alias="currentApprovals")
    approvers: list[CamelApproverAnswer]
    decisions: list[CamelVoteAnswer]
    expires_at: datetime = Field(serialization_alias="expiresAt")
    created_at: datetime = Field(serialization_alias="createdAt")


class ApprovedAnswer(BaseModel):
    """``status`` is still pending where more approvals are needed."""

    id: str
    action_id: str
    status: str
    approved_by: PersonAnswer
    approved_at: datetime
    comment: str | None
    required_approvals: int
    current_approvals: int


class DeniedAnswer(BaseModel):
    id: str
    action_id: str
    status: str
    denied_by: PersonAnswer
    denied_at: datetime
    reason: str
    required_approvals: int
    current_approvals: int


def approval_answer(approval: Approval, about: HeldAction, now: datetime) -> ApprovalAnswer:
    return ApprovalAnswer(
        id=approval.approval_id,
        action_id=approval.action_id,
        agent_id=approval.agent_id,
        status=state_at(approval, now).value,
        action=HeldActionAnswer(tool=about.tool, operation=about.operation, params=about.params),
        decision=HeldDecisionAnswer(
            reason=approval.reason, risk_level=approval.risk_level, policy_id=approval.policy_id
        ),
        required_approvals=approval.required_approvals,
        current_approvals=approval.current_approvals,
        repeats=approval.repeats,
        created_at=approval.created_at,
        expires_at=approval.expires_at,
        decided_at=approval.decided_at,
        used_at=approval.used_at,
    )


def approval_detail_answer(
    approval: Approval, about: HeldAction, votes: Sequence[Vote], users: Mapping[str, User], now: datetime
) -> ApprovalDetailAnswer:
    return ApprovalDetailAnswer(
        **dict(approval_answer(approval, about, now)),
        assignees=[_assignee(name, users) for name in approval.assignees],
        history=[_history(entry) for entry in history(approval, votes, now)],
    )


def camel_approval_answer(
    approval: Approval, votes: Sequence[Vote], users: Mapping[str, User], now: datetime
) -> CamelApprovalAnswer:
    people = [(_assignee(name, users), users.get(name)) for name in approval.assignees]
    return CamelApprovalAnswer(
        id=approval.approval_id,
        action_id=approval.action_id,
        status=state_at(approval, now).value,
        required_approvals=approval.required_approvals,
        current_approvals=approval.current_approvals,
        approvers=[
            CamelApproverAnswer(user_id=person.id, email=person.email, role=_role(user)) for person, user in people
        ],
        decisions=[
            CamelVoteAnswer(
                user_id=vote.voter_id, decision=vote.decision.value, reason=vote.reason, decided_at=vote.decided_at
            )
            for vote in votes
        ],
        expires_at=approval.expires_at,
        created_at=approval.created_at,
    )


def decided_answer(outcome: Outcome) -> ApprovedAnswer | DeniedAnswer:
    approval, vote = outcome.approval, outcome.vote
    person = PersonAnswer(id=vote.voter_id, email=vote.email)
    if vote.decision is VoteDecision.APPROVE:
        return ApprovedAnswer(
            id=approval.approval_id,
            action_id=approval.action_id,
            status=approval.status.value,
            approved_by=person,
            approved_at=vote.decided_at,
            comment=vote.reason,
            required_approvals=approval.required_approvals,
            current_approvals=approval.current_approvals,
        )
    return DeniedAnswer(
        id=approval.approval_id,
        action_id=approval.action_id,
        status=approval.status.value,
        denied_by=person,
        denied_at=vote.decided_at,
        reason=vote.reason or "",
        required_approvals=approval.required_approvals,
        current_approvals=approval.current_approvals,
    )


def _assignee(name: str, users: Mapping[str, User]) -> PersonAnswer:
    """Policies name people by user id or by e-mail."""
    if "@" in name:
        return PersonAnswer(id=None, email=name)
    user = users.get(name)
    return PersonAnswer(id=name, email=None if user is None else user.email)


def _role(user: User | None) -> str:
    return "approver" if user is None or not user.roles else min(role.value for role in user.roles)


def _history(entry: HistoryEntry) -> HistoryAnswer:
    by = None if entry.by is None else PersonAnswer(id=entry.by, email=entry.email)
    return HistoryAnswer(event=entry.verb.value, at=entry.at, by=by, reason=entry.reason)
