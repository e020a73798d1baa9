"""Broken glasses in the database. They are claimed by ``use_exemption`` (headgate.grants.exemption_store)."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.break_glass.model import BrokenGlass, Review, ReviewOutcome
from headgate.db.bounded_count import count_rows
from headgate.db.database import Connection
from headgate.db.rows import insert_row
from headgate.kernel.errors import NotFoundError

_COLUMNS: Final = sql.SQL(
    "b.org_id, b.pass_id, b.action_id, b.agent_id, b.tool, b.operation, b.digest, b.reason, b.opened_by,"
    " b.opened_by_email, b.created_at, b.expires_at, b.used_at, b.used_action_id, b.reviewed_at, b.reviewed_by,"
    " b.reviewed_by_email, b.review_outcome, b.review_note"
)


class DeniedAction(Struct, frozen=True):
    """What there is to know of an action before it can be let through. ``canaries``: names of those that it held."""

    action_id: str
    agent_id: str
    tool: str
    operation: str
    digest: bytes
    status: str
    approval_id: str | None
    canaries: tuple[str, ...] = ()


class GlassPage(Struct, frozen=True):
    """One page, newest first."""

    glasses: Sequence[BrokenGlass]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


async def find_denied(connection: Connection, org_id: str, action_id: str) -> DeniedAction:
    """Raises NotFoundError."""
    cursor = await connection.execute(
        "SELECT action_id, agent_id, tool, operation, digest, status, approval_id, decision FROM actions"
        " WHERE org_id = %s AND action_id = %s",
        [org_id, action_id],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"there is no action {action_id}")
    return DeniedAction(
        row["action_id"],
        row["agent_id"],
        row["tool"],
        row["operation"],
        bytes(row["digest"]),
        row["status"],
        row["approval_id"],
        tuple(one["name"] for one in json.loads(row["decision"]).get("canaries", ())),
    )


async def insert_glass(connection: Connection, glass: BrokenGlass) -> None:
    row: dict[str, object] = {
        "org_id": glass.org_id,
        "pass_id": glass.pass_id,
        "action_id": glass.action_id,
        "agent_id": glass.agent_id,
        "tool": glass.tool,
        "operation": glass.operation,
        "digest": glass.digest,
        "reason": glass.reason,
        "opened_by": glass.opened_by,
        "opened_by_email": glass.opened_by_email,
        "created_at": glass.created_at,
        "expires_at": glass.expires_at,
    }
    await insert_row(connection, "break_glass", row)


async def find_glass(connection: Connection, org_id: str, pass_id: str, *, lock: bool = False) -> BrokenGlass:
    """Raises NotFoundError."""
    query = sql.SQL("SELECT {} FROM break_glass b WHERE b.org_id = %s AND b.pass_id = %s {}").format(
        _COLUMNS, sql.SQL("FOR UPDATE" if lock else "")
    )
    row = await (await connection.execute(query, [org_id, pass_id])).fetchone()
    if row is None:
        raise NotFoundError(f"No break-glass use {pass_id}")
    return _glass(row)


async def waiting_glasses(connection: Connection, org_id: str) -> list[BrokenGlass]:
    """What a process keeps in memory: those that may still let something through. Every one that is not reviewed is
    looked at, by the index of these."""
    query = sql.SQL(
        "SELECT {} FROM break_glass b WHERE b.org_id = %s AND b.reviewed_at IS NULL AND b.used_at IS NULL"
        " AND b.expires_at > clock_timestamp()"
    ).format(_COLUMNS)
    return [_glass(row) for row in await (await connection.execute(query, [org_id])).fetchall()]


async def glass_used_by(connection: Connection, org_id: str, action_id: str) -> BrokenGlass | None:
    """The broken glass that let this action through; None: none did."""
    query = sql.SQL("SELECT {} FROM break_glass b WHERE b.org_id = %s AND b.used_action_id = %s").format(_COLUMNS)
    row = await (await connection.execute(query, [org_id, action_id])).fetchone()
    return None if row is None else _glass(row)


async def list_glasses(
    connection: Connection,
    org_id: str,
    *,
    open_only: bool,
    limit: int = 50,
    offset: int = 0,
    cursor: str | None = None,
    exact_total: bool = False,
) -> GlassPage:
    """Newest first; ``open_only``: those whose review is not done."""
    where = sql.SQL("b.org_id = %(org)s {}").format(sql.SQL("AND b.reviewed_at IS NULL" if open_only else ""))
    values: dict[str, object] = {"org": org_id}
    total, is_minimum = await count_rows(
        connection, sql.SQL("break_glass b WHERE {}").format(where), values, exact=exact_total
    )
    page = sql.SQL("SELECT {} FROM break_glass b WHERE {} {} ORDER BY b.pass_id DESC LIMIT %(limit)s OFFSET %(offset)s")
    query = page.format(_COLUMNS, where, sql.SQL("" if cursor is None else "AND b.pass_id < %(before)s"))
    rows = await (
        await connection.execute(query, {**values, "before": cursor, "limit": limit, "offset": offset})
    ).fetchall()
    glasses = [_glass(row) for row in rows]
    return GlassPage(glasses, total, is_minimum, glasses[-1].pass_id if len(glasses) == limit else None)


async def end_glass(connection: Connection, org_id: str, pass_id: str, at: datetime) -> bool:
    """Ends an unused one. Returns false if it was used, reviewed or expired before."""
    cursor = await connection.execute("SELECT end_break_glass(%s, %s, %s) AS ended", [org_id, pass_id, at])
    row = await cursor.fetchone()
    return row is not None and bool(row["ended"])


async def save_review(connection: Connection, org_id: str, pass_id: str, review: Review) -> None:
    """The caller holds the row's lock."""
    await connection.execute(
        "UPDATE break_glass SET reviewed_at = %s, reviewed_by = %s, reviewed_by_email = %s, review_outcome = %s,"
        " review_note = %s WHERE org_id = %s AND pass_id = %s",
        [review.at, review.by, review.email, review.outcome.value, review.note, org_id, pass_id],
    )


async def count_to_review(connection: Connection) -> int:
    """How many wait for a review, over all organizations."""
    row = await (await connection.execute("SELECT break_glass_open() AS glasses")).fetchone()
    return 0 if row is None else int(row["glasses"])


def _glass(row: DictRow) -> BrokenGlass:
    review = None
    if row["reviewed_at"] is not None:
        review = Review(
            by=row["reviewed_by"],
            email=row["reviewed_by_email"],
            at=row["reviewed_at"],
            outcome=ReviewOutcome(row["review_outcome"]),
            note=row["review_note"],
        )
    return BrokenGlass(
        org_id=row["org_id"],
        pass_id=row["pass_id"],
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        tool=row["tool"],
        operation=row["operation"],
        digest=bytes(row["digest"]),
        reason=row["reason"],
        opened_by=row["opened_by"],
        opened_by_email=row["opened_by_email"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        used_at=row["used_at"],
        used_action_id=row["used_action_id"],
        review=review,
    )


async def end_unused(connection: Connection, org_id: str, at: datetime) -> int:
    """Those that are open and were not used; returns how many. For the owner's role only."""
    cursor = await connection.execute(
        "UPDATE break_glass SET expires_at = greatest(%(at)s, created_at + interval '1 microsecond')"
        " WHERE org_id = %(org)s AND used_at IS NULL AND reviewed_at IS NULL AND expires_at > %(at)s",
        {"org": org_id, "at": at},
    )
    return cursor.rowcount
