"""An action as it was recorded: its states, its decision, and how it was carried out.

The statuses are the specification's ("Action status"); the moves that it leaves open are
semantics.md's ("What the contract leaves open").
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ConflictError


class ActionStatus(StrEnum):
    ALLOWED = "allowed"
    DENIED = "denied"
    PENDING_APPROVAL = "pending_approval"
    APPROVED = "approved"
    EXECUTING = "executing"
    COMPLETED = "completed"
    FAILED = "failed"


TRANSITIONS: Final[Mapping[ActionStatus, frozenset[ActionStatus]]] = MappingProxyType(
    {
        ActionStatus.ALLOWED: frozenset({ActionStatus.EXECUTING}),
        ActionStatus.DENIED: frozenset(),
        ActionStatus.PENDING_APPROVAL: frozenset({ActionStatus.APPROVED, ActionStatus.DENIED}),
        # Denied after a restore: its approval was withdrawn.
        ActionStatus.APPROVED: frozenset({ActionStatus.EXECUTING, ActionStatus.DENIED}),
        # Back to approved: nothing was sent, and the use of the approval was given back.
        ActionStatus.EXECUTING: frozenset({ActionStatus.COMPLETED, ActionStatus.FAILED, ActionStatus.APPROVED}),
        ActionStatus.COMPLETED: frozenset(),
        ActionStatus.FAILED: frozenset({ActionStatus.EXECUTING}),  # a manual retry
    }
)


def move(action_id: str, current: ActionStatus, target: ActionStatus) -> ActionStatus:
    """``target``, where the transition table allows it. Raises ConflictError."""
    if target not in TRANSITIONS[current]:
        raise ConflictError(
            f"action {action_id} is {current} and cannot become {target}", details={"status": current.value}
        )
    return target


class ExecutionStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class RecordedDecision(Struct, frozen=True):
    """The decision object of the specification, the rule policies that made it, the content policies (``nlp``) that
    ran, and the canary tokens that the call held. ``masked``: what was replaced in the call, ``{count, kinds}``."""

    decision: str
    reason: str
    risk_level: str
    policy_id: str | None
    evaluation_time_ms: float
    policies: Sequence[JsonValue]
    nlp: Sequence[JsonValue] = ()
    canaries: Sequence[JsonValue] = ()
    masked: JsonObject | None = None


class RecordedRequest(Struct, frozen=True):
    """What was asked for, with secrets masked. ``http`` is set wherever Headgate makes the call; ``provenance`` where a
    policy asks for it and something is known of its values."""

    params: JsonObject
    context: JsonObject | None
    delegation: JsonObject | None
    http: JsonObject | None
    provenance: JsonObject | None = None
    mcp: JsonObject | None = None
    """Of a message of MCP: what policies read as ``input.mcp``."""
    unparsed_body: JsonObject | None = None
    """Of a held call: the bytes of its body that ``params`` do not show (``headgate.actions.unparsed_body``)."""


class Execution(Struct, frozen=True):
    """One carrying-out of an action; ``result`` is platform-specific."""

    execution_id: str
    status: ExecutionStatus
    attempts: int
    started_at: datetime | None
    completed_at: datetime | None
    error: str | None
    result: JsonValue


class ApprovedEdit(Struct, frozen=True):
    """What a reviewer made of the action: this is what was approved, and what is to be carried out."""

    params: JsonObject
    by: str
    at: datetime


class ActionApproval(Struct, frozen=True):
    """What an action shows of its approval; ``status`` is what it is now, expired by time included. ``comment``: what
    whoever decided it wrote, which the agent is told."""

    approval_id: str
    status: str
    approver_id: str | None
    decided_at: datetime | None
    expires_at: datetime
    edit: ApprovedEdit | None = None
    comment: str | None = None
    approver: str | None = None
    """The approver's e-mail address, or else name."""


class Action(Struct, frozen=True):
    """One action; ``execution`` is its newest. ``has_failed``: see ``failed_calls``. ``body_state``: where request and
    result are (headgate.retention). ``tags``: the kinds of what content policies found in the call and its answer
    without stopping it."""

    org_id: str
    action_id: str
    agent_id: str
    source: str
    tool: str
    operation: str
    status: ActionStatus
    request: RecordedRequest
    decision: RecordedDecision
    risk_level: str
    approval_id: str | None
    parent_action_id: str | None
    created_at: datetime
    updated_at: datetime
    execution: Execution | None
    has_failed: bool
    body_state: str = "clear"
    tags: Sequence[str] = ()


class ActionDetail(Struct, frozen=True):
    """With what GET of one action shows besides; ``delegation_count`` is the number of its sub-actions."""

    action: Action
    approval: ActionApproval | None
    delegation_count: int


class ActionPage(Struct, frozen=True):
    """One page, newest first."""

    actions: Sequence[Action]
    total: int
    total_is_minimum: bool
    next_cursor: str | None
