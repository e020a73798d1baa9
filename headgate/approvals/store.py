"""Reads, locks and updates approvals in the database (lists: ``list_store``, votes: ``vote_store``)."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.approvals.model import Approval
from headgate.approvals.rows import COLUMNS, STATES_RISK, approval_from
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import NotFoundError
from headgate.kernel.json_beginning import read_beginning
from headgate.organizations.mail_addresses import lower_ascii
from headgate.policies.model import Requirement
from headgate.policies.terms import GROUP_PREFIX


class HeldAction(Struct, frozen=True):
    """The action as shown to approvers: tool, operation and masked params. ``http`` is the masked request of an
    intercepted call. Not ``is_whole``: a list has read the beginning of a large request only. ``states_risk``: a policy
    that decided states the risk; else it is the default of the decision."""

    tool: str
    operation: str
    params: JsonObject
    http: JsonObject | None
    is_whole: bool = True
    states_risk: bool = True


class DueApproval(Struct, frozen=True):
    """An approval that is due for expiry, escalation or a reminder."""

    org_id: str
    approval_id: str


class Denial(Struct, frozen=True):
    """A denial by people, and the time until which it holds."""

    approval_id: str
    expires_at: datetime


async def get_approval(connection: Connection, org_id: str, approval_id: str) -> tuple[Approval, HeldAction]:
    """Reads the approval and its action. Raises NotFoundError."""
    query = sql.SQL(
        "SELECT {}, a.tool, a.operation, a.request, {} FROM approvals p"
        " JOIN actions a ON a.org_id = p.org_id AND a.action_id = p.action_id"
        " WHERE p.org_id = %s AND p.approval_id = %s"
    ).format(COLUMNS, STATES_RISK)
    row = await (await connection.execute(query, [org_id, approval_id])).fetchone()
    if row is None:
        raise NotFoundError(f"no approval {approval_id}")
    return approval_from(row), held_from(row)


async def lock_approval(connection: Connection, org_id: str, approval_id: str) -> Approval:
    """The approval, locked until the transaction ends. Raises NotFoundError."""
    query = sql.SQL("SELECT {} FROM approvals p WHERE p.org_id = %s AND p.approval_id = %s FOR UPDATE").format(COLUMNS)
    row = await (await connection.execute(query, [org_id, approval_id])).fetchone()
    if row is None:
        raise NotFoundError(f"no approval {approval_id}")
    return approval_from(row)


async def unused_approvals(connection: Connection, org_id: str) -> list[str]:
    """Those that are pending, and those that were approved and that no call has used, oldest first."""
    cursor = await connection.execute(
        "SELECT p.approval_id FROM approvals p JOIN actions a ON a.org_id = p.org_id AND a.action_id = p.action_id"
        " WHERE p.org_id = %s AND (p.status = 'pending' AND a.status = 'pending_approval'"
        " OR p.status = 'approved' AND p.used_at IS NULL AND a.status = 'approved') ORDER BY p.approval_id",
        [org_id],
    )
    return [row["approval_id"] for row in await cursor.fetchall()]


async def newest_for_digest(connection: Connection, org_id: str, agent_id: str, digest: bytes) -> Approval | None:
    """The newest approval of an intercepted call. An explicit action's approval never applies (the digest differs)."""
    query = sql.SQL(
        "SELECT {} FROM approvals p WHERE p.org_id = %s AND p.agent_id = %s AND p.digest = %s AND p.source = 'proxy'"
        " ORDER BY p.approval_id DESC LIMIT 1"
    ).format(COLUMNS)
    row = await (await connection.execute(query, [org_id, agent_id, digest])).fetchone()
    return None if row is None else approval_from(row)


async def standing_denial(connection: Connection, org_id: str, agent_id: str, digest: bytes) -> Denial | None:
    """The newest decision of people about this call, if it is a denial that has not expired. ``use_exemption`` checks
    the same when a call claims a break-glass use."""
    cursor = await connection.execute(
        "SELECT n.approval_id, n.expires_at FROM (SELECT p.approval_id, p.status, p.expires_at FROM approvals p"
        " WHERE p.org_id = %s AND p.agent_id = %s AND p.digest = %s AND p.status IN ('approved', 'denied')"
        " ORDER BY p.approval_id DESC LIMIT 1) n WHERE n.status = 'denied' AND clock_timestamp() < n.expires_at",
        [org_id, agent_id, digest],
    )
    row = await cursor.fetchone()
    return None if row is None else Denial(row["approval_id"], row["expires_at"])


async def save_state(connection: Connection, approval: Approval) -> None:
    """Writes a change by a vote or the clock; the caller holds the row's lock."""
    await connection.execute(
        "UPDATE approvals SET status = %s, current_approvals = %s, decided_at = %s, decided_by = %s, comment = %s"
        " WHERE org_id = %s AND approval_id = %s",
        [
            approval.status.value,
            approval.current_approvals,
            approval.decided_at,
            approval.decided_by,
            approval.comment,
            approval.org_id,
            approval.approval_id,
        ],
    )


async def save_requirements(connection: Connection, approval: Approval) -> None:
    """Writes the assignees and the lists that show the approval; the caller holds the row's lock."""
    records = [one.record() for one in approval.requirements]
    await connection.execute(
        "UPDATE approvals SET requirements = %s WHERE org_id = %s AND approval_id = %s",
        [canonical_bytes([*records]).decode(), approval.org_id, approval.approval_id],
    )
    await connection.execute(
        "DELETE FROM approval_assignees WHERE org_id = %s AND approval_id = %s", [approval.org_id, approval.approval_id]
    )
    await connection.execute(
        "INSERT INTO approval_assignees (org_id, name, approval_id)"
        " SELECT %s, n.name, %s FROM unnest(%s::text[]) AS n(name)",
        [approval.org_id, approval.approval_id, assigned_names(approval.requirements)],
    )


async def save_attention(connection: Connection, approval: Approval) -> None:
    """Writes escalation and reminder times; the caller holds the row's lock."""
    await connection.execute(
        "UPDATE approvals SET escalated_at = %s, remind_at = %s, reminders = %s WHERE org_id = %s AND approval_id = %s",
        [approval.escalated_at, approval.remind_at, approval.reminders, approval.org_id, approval.approval_id],
    )


def assigned_names(requirements: Sequence[Requirement]) -> list[str]:
    """The names whose lists show an approval: assignees and its roles' groups, ASCII letters in lower case."""
    named = {lower_ascii(name) for one in requirements for name in one.named}
    return sorted(named | {GROUP_PREFIX + slot.group for one in requirements for slot in one.roles})


async def due_approvals(connection: Connection) -> list[DueApproval]:
    """Lists approvals of all organizations that are due to expire."""
    cursor = await connection.execute("SELECT org_id, approval_id FROM approvals_due()")
    return [DueApproval(row["org_id"], row["approval_id"]) for row in await cursor.fetchall()]


async def due_escalations(connection: Connection) -> list[DueApproval]:
    """Lists undecided approvals of all organizations that are due for escalation."""
    cursor = await connection.execute("SELECT org_id, approval_id FROM escalations_due()")
    return [DueApproval(row["org_id"], row["approval_id"]) for row in await cursor.fetchall()]


async def due_reminders(connection: Connection) -> list[DueApproval]:
    """Lists approvals of all organizations that are due for a reminder."""
    cursor = await connection.execute("SELECT org_id, approval_id FROM reminders_due()")
    return [DueApproval(row["org_id"], row["approval_id"]) for row in await cursor.fetchall()]


async def count_open(connection: Connection) -> int:
    """Counts pending approvals of all organizations."""
    row = await (await connection.execute("SELECT approvals_open() AS approvals")).fetchone()
    return 0 if row is None else int(row["approvals"])


def held_from(row: DictRow) -> HeldAction:
    """Of a row whose ``request`` is whole, or its beginning (``read_beginning``)."""
    request, is_whole = read_beginning(row["request"])
    params, http = request.get("params"), request.get("http")
    return HeldAction(
        row["tool"],
        row["operation"],
        params if isinstance(params, dict) else {},
        http if isinstance(http, dict) else None,
        is_whole,
        row["states_risk"],
    )
