"""Bodies about approvals (specification, "Approval", "Approval routes" and "Admin approval decision")."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from admin_api.identifiers import HoldingPolicyId, PersonName
from admin_api.json_values import StoredObject
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.approvals.model import REASON_MAX_CHARACTERS, Approval, ApprovalStatus, VoteDecision, state_at
from headgate.approvals.store import HeldAction
from headgate.approvals.summary import summary
from headgate.approvals.voting import Outcome
from headgate.kernel.canonical_json import JsonObject, sha256_bytes
from headgate.kernel.ids import IdPrefix, id_pattern
from headgate.policies.model import Verdict
from headgate.policies.stated_risk import is_risk_stated
from headgate.policies.terms import ASSIGNEE_MAX_CHARACTERS, ASSIGNEES_MAX, GROUP_NAME, GROUP_PREFIX
from headgate.protocols.shown_call import shown_authority

type _Reason = Annotated[StorableText, Field(max_length=REASON_MAX_CHARACTERS)]


type Digest = Annotated[
    str,
    Field(
        pattern=r"^sha256:[0-9a-f]{64}$",
        description="Digest of the action as you saw it. 409 if the action has changed.",
        examples=["sha256:" + "0a" * 32],
    ),
]


def digest_bytes(digest: Digest | None) -> bytes | None:
    return None if digest is None else sha256_bytes(digest)


class _Vote(BaseModel):
    """``reason`` and ``comment`` are two names of one text. If a body has both, the route's documented one counts.

    Other members are refused: a misspelled ``params`` would approve the action as it was, not as the reviewer has
    edited it."""

    model_config = ConfigDict(extra="forbid")

    comment: _Reason | None = None
    reason: _Reason | None = None

    @property
    def said(self) -> str | None:
        return self.comment or self.reason


class ApproveRequest(_Vote):
    digest: Digest | None = None
    params: JsonObject | None = Field(
        default=None,
        description="All params of the action, as you approve them, instead of the requested params.",
    )


class _ReasonedVote(_Vote):
    @property
    def said(self) -> str | None:
        return self.reason or self.comment


class DenyRequest(_ReasonedVote):
    """``reason`` (or ``comment``) is required; the agent sees it."""


class DecisionRequest(_ReasonedVote):
    """POST /admin/approvals/{approval_id}/decision; ``reason`` is optional, also to deny."""

    decision: VoteDecision
    digest: Digest | None = None
    params: JsonObject | None = None


_Assignee = Annotated[
    PersonName,
    Field(
        max_length=ASSIGNEE_MAX_CHARACTERS,
        json_schema_extra={
            "anyOf": [
                {"pattern": f"^{GROUP_PREFIX}{GROUP_NAME.pattern}$"},
                {"pattern": id_pattern(IdPrefix.USER)},
                {"pattern": "^[!-~]+@[!-~]+$"},
            ]
        },
    ),
]


class ReassignRequest(_Vote):
    """``assignees`` are users' ids, e-mail addresses and groups (``group:name``); they take the place of those before.

    ``comment`` (or ``reason``) says why; ``policy_id`` restricts this to what that policy demands.
    """

    assignees: Annotated[list[_Assignee], Field(min_length=1, max_length=ASSIGNEES_MAX)]
    policy_id: HoldingPolicyId | None = None


class EscalateRequest(_Vote):
    """``comment`` (or ``reason``) says why."""


class HeldActionAnswer(BaseModel):
    tool: str
    operation: str
    params: StoredObject


class HeldDecisionAnswer(BaseModel):
    """The decision that holds the action."""

    reason: str
    risk_level: str
    policy_id: str | None


class PersonAnswer(BaseModel):
    """A user, with id and email address as far as they are known. A program votes with the id of its key."""

    id: str | None
    email: str | None


class ApprovalAnswer(BaseModel):
    """``status`` is the current status, including expiry by time."""

    id: str
    action_id: str
    agent_id: str
    status: str
    action: HeldActionAnswer
    decision: HeldDecisionAnswer
    risk_is_stated: bool = Field(
        description="false: no policy states the risk, and decision.risk_level is the default of a held call."
    )
    required_approvals: int
    current_approvals: int
    source: str = Field(description="proxy: an intercepted call. api: an action that an agent submitted.")
    held_until: datetime | None = Field(
        description="Latest time until which the agent's intercepted call waits. Null: no call is waiting."
    )
    repeats: str | None = Field(description="The earlier approval request of the same call, used or expired.")
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    used_at: datetime | None
    digest: str = Field(description="Digest of the action that a vote now covers.")
    identical_pending: int = Field(
        default=1, description="Number of open approval requests for the identical action of this agent (in lists)."
    )


class ListedApprovalAnswer(ApprovalAnswer):
    """One of a list. ``summary`` is the sentence of one approval's ``context``, ``host`` where an intercepted call goes
    to, ``authority`` the same with its port, if that is not the scheme's own."""

    agent_name: str | None
    summary: str
    host: str | None
    authority: str | None
    is_whole: bool = Field(
        description="false: the recorded request has more than 16,384 characters. action.params and summary contain"
        " only what its beginning has. GET /v1/approvals/{id} returns all of it."
    )


class ApprovedAnswer(BaseModel):
    """``status`` stays pending if more approvals are needed."""

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
    reason: str | None
    required_approvals: int
    current_approvals: int


def approval_answer(approval: Approval, about: HeldAction, now: datetime) -> ApprovalAnswer:
    held_until = approval.held_until if state_at(approval, now) is ApprovalStatus.PENDING else None
    return ApprovalAnswer(
        id=approval.approval_id,
        action_id=approval.action_id,
        agent_id=approval.agent_id,
        status=state_at(approval, now).value,
        action=HeldActionAnswer(tool=about.tool, operation=about.operation, params=about.params),
        decision=HeldDecisionAnswer(
            reason=approval.reason, risk_level=approval.risk_level, policy_id=approval.policy_id
        ),
        risk_is_stated=is_risk_stated(Verdict.REQUIRE_APPROVAL, approval.risk_level, is_named=about.states_risk),
        required_approvals=approval.required_approvals,
        current_approvals=approval.current_approvals,
        source=approval.source,
        held_until=None if held_until is None or held_until <= now else held_until,
        repeats=approval.repeats,
        created_at=approval.created_at,
        expires_at=approval.expires_at,
        decided_at=approval.decided_at,
        used_at=approval.used_at,
        digest="sha256:" + approval.approved_digest.hex(),
    )


def listed_approval_answer(
    approval: Approval,
    about: HeldAction,
    now: datetime,
    *,
    agent_name: str | None,
    identical: int,
    descriptions: Mapping[tuple[str, str], str],
) -> ListedApprovalAnswer:
    params = about.params if approval.edit is None else approval.edit.params
    http = about.http or {}
    host = http.get("host")
    answer = approval_answer(approval, about, now).model_dump() | {"identical_pending": identical}
    return ListedApprovalAnswer(
        **answer,
        agent_name=agent_name,
        summary=summary(
            agent=agent_name or approval.agent_id,
            tool=about.tool,
            operation=about.operation,
            params=params,
            http=about.http,
            descriptions=descriptions,
        ),
        host=host if isinstance(host, str) else None,
        authority=shown_authority(http.get("scheme"), host, http.get("port")) if isinstance(host, str) else None,
        is_whole=about.is_whole or approval.edit is not None,
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
        reason=vote.reason,
        required_approvals=approval.required_approvals,
        current_approvals=approval.current_approvals,
    )
