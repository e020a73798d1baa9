"""The body about an approval in the specification's camelCase variant."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from admin_api.approvals.detail_schemas import approvers
from admin_api.schema import BaseModel
from headgate.approvals.detail_store import People
from headgate.approvals.model import Approval, Vote, state_at


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


def camel_approval_answer(
    approval: Approval, votes: Sequence[Vote], people: People, now: datetime
) -> CamelApprovalAnswer:
    return CamelApprovalAnswer(
        id=approval.approval_id,
        action_id=approval.action_id,
        status=state_at(approval, now).value,
        required_approvals=approval.required_approvals,
        current_approvals=approval.current_approvals,
        approvers=[
            CamelApproverAnswer(user_id=one.user_id, email=one.email, role=one.role)
            for one in approvers(approval, people)
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
