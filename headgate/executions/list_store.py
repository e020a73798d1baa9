"""Reading executions, Headgate's own and intercepted ones, newest action first (figures: ``statistics_store``)."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.actions.model import Execution, ExecutionStatus
from headgate.db.bounded_count import EXACT_TOTAL_LIMIT, Shown, count_list
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import NotFoundError, ValidationError

_COLUMNS: Final = sql.SQL(
    "e.execution_id, e.action_id, e.status AS execution_status, e.attempts, e.started_at, e.completed_at, e.error,"
    " e.result, a.agent_id, a.source, a.tool, a.operation, a.status, a.risk_level, a.approval_id, a.created_at,"
    " a.request, c.state, c.destination, c.queued_at, c.due_at, c.priority"
)
_WITH_ACTION: Final = "a.org_id = e.org_id AND a.action_id = e.action_id"
_WITH_CALL: Final = "c.org_id = e.org_id AND c.action_id = e.action_id AND c.execution_id = e.execution_id"
_LOOKED_UP: Final = sql.SQL(f"actions a ON {_WITH_ACTION} LEFT JOIN execution_calls c ON {_WITH_CALL}")
_JOINED_TOTAL: Final = 500
"""Up to where a total is exact that has to look up the action of each execution."""
BY_INDEX: Final = (
    "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),"
    " set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),"
    " set_config('join_collapse_limit', '1', true), set_config('max_parallel_workers_per_gather', '0', true),"
    " set_config('jit', 'off', true), set_config('enable_sort', 'off', true)"
)
"""A page is a few rows at the end of an index, joined one by one. What the planner knows of a table that grows by the
minute is old, and where it takes the page for a large part of it, it reads all of it."""

_FEW: Final = (ExecutionStatus.QUEUED, ExecutionStatus.FAILED)
_MERGED: Final = "SELECT set_config('enable_mergejoin', 'on', true)"
"""These have an index in the order of actions: merged with the actions that are asked for, both are read by their
indexes alone, where the one that is rare would else be looked up for each of the other."""


class ExecutionFilter(Struct, frozen=True):
    """What to list; None means any. ``retryable``: failed, and the call is still kept (the dead letters)."""

    agent_id: str | None = None
    status: ExecutionStatus | None = None
    tool: str | None = None
    operation: str | None = None
    action_id: str | None = None
    source: str | None = None
    retryable: bool = False


class ListedExecution(Struct, frozen=True):
    """An execution with its action. ``can_retry``: it failed, and its call is still kept. ``due_at``: not before."""

    execution: Execution
    action_id: str
    agent_id: str
    source: str
    tool: str
    operation: str
    action_status: str
    risk_level: str
    approval_id: str | None
    created_at: datetime
    request: JsonObject
    destination: str | None
    priority: int | None
    queued_at: datetime | None
    due_at: datetime | None
    can_retry: bool


class ExecutionPage(Struct, frozen=True):
    executions: Sequence[ListedExecution]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


async def get_execution(
    connection: Connection, org_id: str, execution_id: str, *, agent_id: str | None
) -> ListedExecution:
    """With ``agent_id``, only that agent's. Raises NotFoundError."""
    query = sql.SQL("SELECT {} FROM executions e JOIN {} WHERE e.org_id = %s AND e.execution_id = %s").format(
        _COLUMNS, _LOOKED_UP
    )
    row = await (await connection.execute(query, [org_id, execution_id])).fetchone()
    if row is None or (agent_id is not None and row["agent_id"] != agent_id):
        raise NotFoundError(f"no execution {execution_id}")
    return _listed(row)


async def list_executions(
    connection: Connection,
    org_id: str,
    wanted: ExecutionFilter,
    *,
    limit: int,
    offset: int,
    cursor: str | None,
    exact_total: bool,
) -> ExecutionPage:
    """``cursor``: the id of the last execution already seen. Raises ValidationError for one that is none."""
    chosen, values = _choice(org_id, wanted)
    source = sql.SQL("{} WHERE {}").format(chosen.tables, chosen.where)
    await connection.execute(BY_INDEX)
    if chosen.is_joined and wanted.status in _FEW:
        await connection.execute(_MERGED)
    before: sql.Composable = sql.SQL("")
    if cursor is not None:
        values |= {"before_action": await _action_of(connection, org_id, cursor), "before": cursor}
        before = sql.SQL(
            "AND {action} <= %(before_action)s AND ({action}, {execution}) < (%(before_action)s, %(before)s)"
        ).format(action=chosen.action, execution=chosen.execution)
    # The page is chosen first: the planner takes an execution's action for a matter of chance, expects one row of the
    # three tables, and would join all of them to sort that.
    page = sql.SQL(
        "WITH page AS MATERIALIZED (SELECT {action} AS action_id, {execution} AS execution_id FROM {source} {before}"
        " ORDER BY {action} DESC, {execution} DESC LIMIT %(limit)s OFFSET %(offset)s)"
        " SELECT {columns} FROM page JOIN executions e ON e.org_id = %(org)s AND e.execution_id = page.execution_id"
        " JOIN {looked_up} ORDER BY page.action_id DESC, page.execution_id DESC"
    ).format(
        action=chosen.action,
        execution=chosen.execution,
        source=source,
        before=before,
        columns=_COLUMNS,
        looked_up=_LOOKED_UP,
    )
    # Planned for these very values: a plan for any would miss the partial indexes, and sort.
    rows = await (await connection.execute(page, values | {"limit": limit, "offset": offset}, prepare=False)).fetchall()
    listed = [_listed(row) for row in rows]
    most = _JOINED_TOTAL if chosen.is_joined else EXACT_TOTAL_LIMIT
    shown = Shown(len(listed), limit, offset, cursor)
    total, is_minimum = await count_list(connection, source, values, shown, exact=exact_total, most=most, prepare=False)
    return ExecutionPage(listed, total, is_minimum, listed[-1].execution.execution_id if len(listed) == limit else None)


async def _action_of(connection: Connection, org_id: str, execution_id: str) -> str:
    cursor = await connection.execute(
        "SELECT action_id FROM executions WHERE org_id = %s AND execution_id = %s", [org_id, execution_id]
    )
    row = await cursor.fetchone()
    if row is None:
        raise ValidationError("cursor: names no execution", details={"field": "cursor"})
    return str(row["action_id"])


class _Choice(Struct, frozen=True):
    """From which tables a page is chosen; the first of them says in which order its rows come."""

    tables: sql.Composable
    where: sql.Composable
    action: sql.Composable
    execution: sql.Composable
    is_joined: bool


def _choice(org_id: str, wanted: ExecutionFilter) -> tuple[_Choice, dict[str, object]]:
    values: dict[str, object] = {"org": org_id}
    if wanted.retryable:  # all that is asked of dead letters stands with the kept call
        source = "c.execution_id IS NOT NULL" if wanted.source in (None, "api") else "false"
        status = "true" if wanted.status in (None, ExecutionStatus.FAILED) else "false"
        parts = ["c.org_id = %(org)s", "c.state = 'failed'", source, status]
        parts += _compared(values, wanted, agent="c", named="c", action="c")
        return _choose("execution_calls c", parts, action="c", execution="c"), values
    parts = ["e.org_id = %(org)s"]
    if wanted.status is not None:
        parts.append("e.status = %(status)s")
        values["status"] = wanted.status.value
    if wanted.source is not None:
        # Not a parameter: Headgate's own are the few that have an index of their own.
        parts.append("a.source = 'api'" if wanted.source == "api" else "a.source <> 'api'")
    parts += _compared(values, wanted, agent="a", named="a", action="e")
    if wanted.source == "api" or any(one is not None for one in (wanted.agent_id, wanted.tool, wanted.operation)):
        parts.append("a.org_id = %(org)s")
        tables = f"actions a JOIN executions e ON {_WITH_ACTION}"
        return _choose(tables, parts, action="a", execution="e", is_joined=True), values
    if wanted.source is not None:
        tables = f"executions e JOIN actions a ON {_WITH_ACTION}"
        return _choose(tables, parts, action="e", execution="e", is_joined=True), values
    return _choose("executions e", parts, action="e", execution="e"), values


def _compared(values: dict[str, object], wanted: ExecutionFilter, *, agent: str, named: str, action: str) -> list[str]:
    """What is asked for by value, of these tables; the values are added."""
    parts: list[str] = []
    for column, name, value in (
        (f"{agent}.agent_id", "agent", wanted.agent_id),
        (f"{named}.tool", "tool", wanted.tool),
        (f"{named}.operation", "operation", wanted.operation),
        (f"{action}.action_id", "action", wanted.action_id),
    ):
        if value is not None:
            parts.append(f"{column} = %({name})s")
            values[name] = value
    return parts


def _choose(tables: str, parts: list[str], *, action: str, execution: str, is_joined: bool = False) -> _Choice:
    return _Choice(
        sql.SQL(tables),
        sql.SQL(" AND ".join(parts)),
        sql.SQL("{}.action_id").format(sql.SQL(action)),
        sql.SQL("{}.execution_id").format(sql.SQL(execution)),
        is_joined,
    )


def _listed(row: DictRow) -> ListedExecution:
    return ListedExecution(
        execution=Execution(
            execution_id=row["execution_id"],
            status=ExecutionStatus(row["execution_status"]),
            attempts=row["attempts"],
            started_at=row["started_at"],
            completed_at=row["completed_at"],
            error=row["error"],
            result=None if row["result"] is None else json.loads(row["result"]),
        ),
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        source=row["source"],
        tool=row["tool"],
        operation=row["operation"],
        action_status=row["status"],
        risk_level=row["risk_level"],
        approval_id=row["approval_id"],
        created_at=row["created_at"],
        request=json.loads(row["request"]),
        destination=row["destination"],
        priority=row["priority"],
        queued_at=row["queued_at"],
        due_at=row["due_at"],
        can_retry=row["state"] == "failed",
    )
