"""The types of a reconciliation: table rows, recorded events, and their differences.

Values are texts in the server's form: times in RFC 3339 (``rfc3339``), digests with their prefix.
"""

from typing import NamedTuple

from msgspec import Struct, field

from headgate.kernel.canonical_json import JsonObject


class Difference(Struct, frozen=True):
    """``column`` None: the row exists without an event, or the event without a row. In the table ``audit_events``,
    ``column`` is the type of a missing event. Secrets are masked, long values are cut."""

    table: str
    row_id: str
    column: str | None
    expected: str | None
    found: str | None

    def describe(self) -> str:
        """One line for people."""
        where = f"{self.table} {self.row_id}" + ("" if self.column is None else f", {self.column}")
        return f"{where}: expected {_shown(self.expected)}, found {_shown(self.found)}"


def _shown(value: str | None) -> str:
    return "nothing" if value is None else value


class Reconciliation(Struct, frozen=True):
    """``actions``: the number compared, each with its approval, votes and executions. The comparison stops at
    ``reconcile.MOST_DIFFERENCES``; more differences may exist."""

    actions: int
    differences: tuple[Difference, ...] = ()


class ActionEvent(NamedTuple):
    """An event of an action, sealed or not. ``data`` and ``actor`` None: its payload was erased."""

    event_type: str
    agent_id: str | None
    created_at: str
    data: JsonObject | None
    actor: JsonObject | None


class ActionRow(NamedTuple):
    """``request``: its digest. ``body``: the text itself, where the bodies have left the row."""

    agent_id: str
    key_id: str | None
    source: str
    tool: str
    operation: str
    status: str
    digest: str
    request: str
    decision: str
    risk_level: str
    approval_id: str | None
    parent_action_id: str | None
    created_at: str
    updated_at: str
    body_state: str
    body: str | None


class ApprovalRow(NamedTuple):
    """``edited_request``: its digest."""

    approval_id: str
    action_id: str
    agent_id: str
    source: str
    tool: str | None
    digest: str
    status: str
    requirements: str
    required_approvals: str
    current_approvals: str
    reason: str
    risk_level: str
    policy_id: str | None
    repeats: str | None
    created_at: str
    expires_at: str
    decided_at: str | None
    decided_by: str | None
    comment: str | None
    used_at: str | None
    used_by: str | None
    escalate_at: str | None
    escalated_at: str | None
    edited_request: str | None
    edited_digest: str | None
    edited_decision: str | None
    edited_by: str | None
    edited_at: str | None


class VoteRow(NamedTuple):
    approval_id: str
    user_id: str
    decision: str
    reason: str | None
    decided_at: str
    key_id: str | None
    email: str | None
    as_admin: str
    standing: str
    on_behalf_of: str | None
    digest: str | None


class ExecutionRow(NamedTuple):
    """``result``: its digest."""

    execution_id: str
    status: str
    attempts: str
    started_at: str | None
    completed_at: str | None
    error: str | None
    result: str | None


class Recorded(Struct):
    """All rows and events of one action at one moment of the database."""

    action: ActionRow | None = None
    approvals: list[ApprovalRow] = field(default_factory=list)
    votes: list[VoteRow] = field(default_factory=list)
    executions: list[ExecutionRow] = field(default_factory=list)
    events: list[tuple[int, ActionEvent]] = field(default_factory=list)
