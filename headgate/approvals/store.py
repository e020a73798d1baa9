"""Approvals in the database: read, listed, locked, moved. Their votes: ``vote_store``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import sql
from psycopg.rows import DictRow

from headgate.approvals.model import Approval, ApprovalStatus
from headgate.db.bounded_count import count_rows
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import NotFoundError
from headgate.policies.model import Requirement

_COLUMNS: Final = sql.SQL(
    "p.org_id, p.approval_id, p.action_id, p.agent_id, p.source, p.digest, p.status, p.requirements,"
    " p.required_approvals, p.current_approvals, p.reason, p.risk_level, p.policy_id, p.repeats, p.created_at,"
    " p.expires_at, p.decided_at, p.decided_by, p.comment, p.used_at, p.used_by"
)


@dataclass(frozen=True, slots=True)
class HeldAction:
    """What the approval is about, as it is shown: tool, operation and the masked params."""

    tool: str
    operation: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class ApprovalFilter:
    """What to list; None means any. ``status`` is what the approval is now, not what its row says."""

    status: ApprovalStatus | None = None
    agent_id: str | None = None
    risk_level: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalPage:
    """One page, newest first."""

    approvals: Sequence[tuple[Approval, HeldAction]]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class DueApproval:
    """An approval whose time is over while its row still says pending."""

    org_id: str
    approval_id: str


async def get_approval(connection: Connection, org_id: str, approval_id: str) -> tuple[Approval, HeldAction]:
    """With what it is about. Raises NotFoundError."""
    query = sql.SQL(
        "SELECT {}, a.tool, a.operation, a.request FROM approvals p"
        " JOIN actions a ON a.org_id = p.org_id AND a.action_id = p.action_id"
        " WHERE p.org_id = %s AND p.approval_id = %s"
    ).format(_COLUMNS)
    row = await (await connection.execute(query, [org_id, approval_id])).fetchone()
    if row is None:
        raise NotFoundError(f"no approval {approval_id}")
    return _approval(row), _held(row)


async def lock_approval(connection: Connection, org_id: str, approval_id: str) -> Approval:
    """The approval, locked until the transaction ends. Raises NotFoundError."""
    query = sql.SQL("SELECT {} FROM approvals p WHERE p.org_id = %s AND p.approval_id = %s FOR UPDATE").format(_COLUMNS)
    row = await (await connection.execute(query, [org_id, approval_id])).fetchone()
    if row is None:
        raise NotFoundError(f"no approval {approval_id}")
    return _approval(row)


async def newest_for_digest(connection: Connection, org_id: str, agent_id: str, digest: bytes) -> Approval | None:
    """The newest approval of an intercepted call. One of an explicit action never serves it (the digest differs)."""
    query = sql.SQL(
        "SELECT {} FROM approvals p WHERE p.org_id = %s AND p.agent_id = %s AND p.digest = %s AND p.source = 'proxy'"
        " ORDER BY p.approval_id DESC LIMIT 1"
    ).format(_COLUMNS)
    row = await (await connection.execute(query, [org_id, agent_id, digest])).fetchone()
    return None if row is None else _approval(row)


async def list_approvals(
    connection: Connection,
    org_id: str,
    wanted: ApprovalFilter,
    *,
    limit: int = 20,
    offset: int = 0,
    cursor: str | None = None,
    exact_total: bool = False,
) -> ApprovalPage:
    """Newest first. ``cursor`` is the id of the last approval already seen."""
    where, parameters = _conditions(org_id, wanted)
    source = sql.SQL("approvals p WHERE {}").format(where)
    total, is_minimum = await count_rows(connection, source, parameters, exact=exact_total)
    page = sql.SQL(
        "SELECT {}, a.tool, a.operation, a.request FROM approvals p"
        " JOIN actions a ON a.org_id = p.org_id AND a.action_id = p.action_id"
        " WHERE {} {} ORDER BY p.approval_id DESC LIMIT %(limit)s OFFSET %(offset)s"
    ).format(_COLUMNS, where, sql.SQL("" if cursor is None else "AND p.approval_id < %(before)s"))
    rows = await (
        await connection.execute(page, {**parameters, "before": cursor, "limit": limit, "offset": offset})
    ).fetchall()
    approvals = [(_approval(row), _held(row)) for row in rows]
    return ApprovalPage(
        approvals=approvals,
        total=total,
        total_is_minimum=is_minimum,
        next_cursor=approvals[-1][0].approval_id if len(approvals) == limit else None,
    )


async def save_state(connection: Connection, approval: Approval) -> None:
    """Write what a vote or the clock changed; the caller holds the row's lock."""
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


async def due_approvals(connection: Connection) -> list[DueApproval]:
    """What the clock has ended, over all organizations."""
    cursor = await connection.execute("SELECT org_id, approval_id FROM approvals_due()")
    return [DueApproval(row["org_id"], row["approval_id"]) for row in await cursor.fetchall()]


async def count_open(connection: Connection) -> int:
    """How many approvals wait for a person, over all organizations."""
    row = await (await connection.execute("SELECT approvals_open() AS approvals")).fetchone()
    return 0 if row is None else int(row["approvals"])


def _conditions(org_id: str, wanted: ApprovalFilter) -> tuple[sql.Composed, dict[str, object]]:
    parts = [sql.SQL("p.org_id = %(org)s")]
    values: dict[str, object] = {"org": org_id}
    match wanted.status:
        case None:
            pass
        case ApprovalStatus.PENDING:
            parts.append(sql.SQL("p.status = 'pending' AND p.expires_at > clock_timestamp()"))
        case ApprovalStatus.EXPIRED:
            parts.append(
                sql.SQL("(p.status = 'expired' OR p.status = 'pending' AND p.expires_at <= clock_timestamp())")
            )
        case decided:
            parts.append(sql.SQL("p.status = %(status)s"))
            values["status"] = decided.value
    if wanted.agent_id is not None:
        parts.append(sql.SQL("p.agent_id = %(agent)s"))
        values["agent"] = wanted.agent_id
    if wanted.risk_level is not None:
        parts.append(sql.SQL("p.risk_level = %(risk)s"))
        values["risk"] = wanted.risk_level
    return sql.SQL(" AND ").join(parts), values


def _approval(row: DictRow) -> Approval:
    return Approval(
        org_id=row["org_id"],
        approval_id=row["approval_id"],
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        source=row["source"],
        digest=bytes(row["digest"]),
        status=ApprovalStatus(row["status"]),
        requirements=requirements_from(row["requirements"]),
        required_approvals=row["required_approvals"],
        current_approvals=row["current_approvals"],
        reason=row["reason"],
        risk_level=row["risk_level"],
        policy_id=row["policy_id"],
        repeats=row["repeats"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        decided_at=row["decided_at"],
        decided_by=row["decided_by"],
        comment=row["comment"],
        used_at=row["used_at"],
        used_by=row["used_by"],
    )


def requirements_from(text: str) -> tuple[Requirement, ...]:
    """Requirements as ``Requirement.record`` wrote them."""
    return tuple(
        Requirement(
            policy_id=one["policy_id"],
            policy_version=one["policy_version"],
            required_approvals=one["required_approvals"],
            assignees=tuple(one["assignees"]),
        )
        for one in json.loads(text)
    )


def _held(row: DictRow) -> HeldAction:
    return HeldAction(row["tool"], row["operation"], json.loads(row["request"])["params"])
