"""The body about one approval: everybody who is asked, every vote, every step (specification, "Approval")."""

from datetime import datetime

from pydantic import Field

from admin_api.approvals.context_schemas import ContextAnswer
from admin_api.approvals.schemas import ApprovalAnswer, PersonAnswer, approval_answer
from admin_api.json_values import StoredObject
from admin_api.schema import BaseModel
from headgate.approvals.detail_store import ApprovalDetail, People
from headgate.approvals.history import HistoryEntry, history
from headgate.approvals.model import Approval, Vote
from headgate.kernel.canonical_json import JsonObject
from headgate.policies.model import Requirement


class HistoryAnswer(BaseModel):
    """``by`` is a voter, the requesting agent, or the execution that used the approval. Null: Headgate, by timeout."""

    event: str
    at: datetime
    by: PersonAnswer | None
    reason: str | None
    on_behalf_of: str | None = Field(description="The absent person for whom the delegate voted.")
    data: JsonObject


class ApproverAnswer(BaseModel):
    """A person who is assigned, by name or as a member of a group. Id and email address as far as they are known."""

    user_id: str | None
    email: str | None
    role: str


class VoteAnswer(BaseModel):
    user_id: str
    email: str | None
    name: str | None = Field(
        description="The current name of the member. People of the local issuer have no email address."
    )
    decision: str
    reason: str | None
    decided_at: datetime
    on_behalf_of: str | None


class RequirementAnswer(BaseModel):
    """The requirement of one policy, and its votes. ``assignees``: the current assignees. Empty: all approvers."""

    policy_id: str
    policy_version: int
    required_approvals: int
    denials_required: int
    assignees: list[str]
    escalate_to: list[str] = Field(description="The additional assignees after the escalation.")
    roles: dict[str, int]
    separation_of_duties: list[str]


class EditAnswer(BaseModel):
    """The edit of a reviewer. ``action`` holds the requested action."""

    params: StoredObject
    digest: str
    edited_by: str
    edited_at: datetime


class ApprovalDetailAnswer(ApprovalAnswer):
    comment: str | None
    decided_by: str | None
    assignees: list[PersonAnswer]
    approvers: list[ApproverAnswer]
    decisions: list[VoteAnswer]
    requirements: list[RequirementAnswer]
    escalate_at: datetime | None
    escalated_at: datetime | None
    edit: EditAnswer | None
    history: list[HistoryAnswer]
    context: ContextAnswer | None = None


def approval_detail_answer(detail: ApprovalDetail, now: datetime) -> ApprovalDetailAnswer:
    approval = detail.approval
    return ApprovalDetailAnswer(
        **dict(approval_answer(approval, detail.about, now)),
        comment=approval.comment,
        decided_by=approval.decided_by,
        assignees=[person(name, detail.people) for name in approval.assignees],
        approvers=approvers(approval, detail.people),
        decisions=[_vote(vote) for vote in detail.votes],
        requirements=[_requirement(one) for one in approval.requirements],
        escalate_at=approval.escalate_at,
        escalated_at=approval.escalated_at,
        edit=_edit(approval),
        history=[_history(one) for one in history(approval, detail.votes, now, detail.steps, detail.early_end)],
    )


def person(name: str, people: People) -> PersonAnswer:
    """Policies name people by user id or by e-mail, and groups as group:name."""
    if "@" in name:
        return PersonAnswer(id=None, email=name)
    user = people.users.get(name)
    return PersonAnswer(id=name, email=None if user is None else user.email)


def approvers(approval: Approval, people: People) -> list[ApproverAnswer]:
    answers: list[ApproverAnswer] = []
    for name in people.asked(approval):
        one, user = person(name, people), people.users.get(name)
        role = "approver" if user is None or not user.roles else min(role.value for role in user.roles)
        answers.append(ApproverAnswer(user_id=one.id, email=one.email, role=role))
    return answers


def _vote(vote: Vote) -> VoteAnswer:
    return VoteAnswer(
        user_id=vote.voter_id,
        email=vote.email,
        name=vote.name,
        decision=vote.decision.value,
        reason=vote.reason,
        decided_at=vote.decided_at,
        on_behalf_of=vote.on_behalf_of,
    )


def _requirement(one: Requirement) -> RequirementAnswer:
    return RequirementAnswer(
        policy_id=one.policy_id,
        policy_version=one.policy_version,
        required_approvals=one.required_approvals,
        denials_required=one.denials_required,
        assignees=list(one.named),
        escalate_to=list(one.escalate_to),
        roles={slot.group: slot.count for slot in one.roles},
        separation_of_duties=[duty.value for duty in one.separation_of_duties],
    )


def _edit(approval: Approval) -> EditAnswer | None:
    edit = approval.edit
    if edit is None:
        return None
    return EditAnswer(params=edit.params, digest="sha256:" + edit.digest.hex(), edited_by=edit.by, edited_at=edit.at)


def _history(entry: HistoryEntry) -> HistoryAnswer:
    by = None if entry.by is None else PersonAnswer(id=entry.by, email=entry.email)
    return HistoryAnswer(
        event=entry.verb.value,
        at=entry.at,
        by=by,
        reason=entry.reason,
        on_behalf_of=entry.on_behalf_of,
        data=entry.data,
    )
