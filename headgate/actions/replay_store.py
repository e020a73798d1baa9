"""Recorded actions in order, for asking policies about them again."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from headgate.db.database import Connection
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, earliest_id

_REQUEST_MAX_BYTES: Final = 1 << 20
_CLOCKS_APART: Final = timedelta(minutes=5)


class ReplayRange(Struct, frozen=True):
    """Which actions: by when they were recorded (both ends inclusive), and by whom (None: by anybody)."""

    start: datetime
    end: datetime
    agent_id: str | None = None


class RecordedAction(Struct, frozen=True):
    """``request`` None: too large to be asked about again, put away, or forgotten. ``human``: how people decided it,
    approved or denied."""

    action_id: str
    agent_id: str
    agent_name: str
    source: str
    tool: str
    operation: str
    created_at: datetime
    request: str | None
    decision: str
    human: str | None


_WHERE: Final = (
    " WHERE a.org_id = %(org)s AND a.action_id > %(after)s AND a.action_id < %(before)s"
    " AND a.created_at BETWEEN %(start)s AND %(end)s AND (%(agent)s::text IS NULL OR a.agent_id = %(agent)s)"
)

_COUNT: Final = "SELECT count(*) AS total FROM actions a" + _WHERE  # noqa: S608 - constants of this file
_START_OF_NEWEST: Final = (
    "SELECT a.created_at FROM actions a"  # noqa: S608 - constants of this file
    + _WHERE
    + " ORDER BY a.action_id DESC OFFSET %(skipped)s LIMIT 1"
)
_ROWS: Final = (
    "SELECT a.action_id, a.agent_id, g.name AS agent_name, a.source, a.tool, a.operation, a.created_at,"
    " CASE WHEN a.body_state = 'clear' AND octet_length(a.request) <= %(most)s THEN a.request END AS request,"
    " a.decision::json ->> 'decision' AS decision,"
    " CASE WHEN p.status IN ('approved', 'denied') THEN p.status END AS human"
    " FROM actions a LEFT JOIN agents g ON g.org_id = a.org_id AND g.agent_id = a.agent_id"
    " LEFT JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id"
)
_SELECT: Final = _ROWS + _WHERE + " ORDER BY a.action_id LIMIT %(limit)s"
_SELECT_ONE: Final = _ROWS + " WHERE a.org_id = %(org)s AND a.action_id = %(action)s"


async def count_recorded(connection: Connection, org_id: str, wanted: ReplayRange) -> int:
    cursor = await connection.execute(_COUNT, _parameters(org_id, wanted, None))
    row = await cursor.fetchone()
    return 0 if row is None else int(row["total"])


async def start_of_newest(connection: Connection, org_id: str, wanted: ReplayRange, count: int) -> datetime:
    """When the oldest of the newest ``count`` actions was recorded; the start of the range where there are fewer."""
    cursor = await connection.execute(_START_OF_NEWEST, {**_parameters(org_id, wanted, None), "skipped": count - 1})
    row = await cursor.fetchone()
    return wanted.start if row is None else row["created_at"]


async def recorded_actions(
    connection: Connection, org_id: str, wanted: ReplayRange, *, after: str | None, limit: int
) -> Sequence[RecordedAction]:
    """The next ones after the action ``after``, oldest first; a page at a time, so that no transaction is long."""
    cursor = await connection.execute(
        _SELECT,
        {**_parameters(org_id, wanted, after), "limit": limit, "most": _REQUEST_MAX_BYTES},
    )
    return [_recorded(row) for row in await cursor.fetchall()]


async def recorded_action(connection: Connection, org_id: str, action_id: str) -> RecordedAction:
    """Raises NotFoundError."""
    cursor = await connection.execute(_SELECT_ONE, {"org": org_id, "action": action_id, "most": _REQUEST_MAX_BYTES})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"No action {action_id}")
    return _recorded(row)


def _recorded(row: Mapping[str, Any]) -> RecordedAction:
    return RecordedAction(
        row["action_id"],
        row["agent_id"],
        row["agent_name"] or "",
        row["source"],
        row["tool"],
        row["operation"],
        row["created_at"],
        row["request"],
        row["decision"],
        row["human"],
    )


def _parameters(org_id: str, wanted: ReplayRange, after: str | None) -> dict[str, object]:
    """An id sorts by the millisecond of its making, which is when the action was recorded, less what clocks differ: so
    the key leads to a range of time, and no other index is needed."""
    return {
        "org": org_id,
        "after": after or earliest_id(IdPrefix.ACTION, wanted.start, -_CLOCKS_APART),
        "before": earliest_id(IdPrefix.ACTION, wanted.end, _CLOCKS_APART),
        "start": wanted.start,
        "end": wanted.end,
        "agent": wanted.agent_id,
    }
