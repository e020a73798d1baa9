"""Reading actions, and moving their status. New actions are written by ``record_actions`` and ``hold_action``."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from psycopg import sql
from psycopg.rows import DictRow

from headgate.actions.failed_calls import HAS_FAILED
from headgate.actions.model import (
    Action,
    ActionApproval,
    ActionDetail,
    ActionPage,
    ActionStatus,
    ApprovedEdit,
    Execution,
    ExecutionStatus,
    RecordedDecision,
    RecordedRequest,
    move,
)
from headgate.actions.unparsed_body import UNPARSED_BODY
from headgate.db.bounded_count import Shown, count_list
from headgate.db.database import Connection
from headgate.kernel.errors import ConflictError, NotFoundError
from headgate.kernel.json_beginning import BEGINNING_CHARACTERS, read_beginning

_ROWS: Final = """
    SELECT a.org_id, a.action_id, a.agent_id, a.source, a.tool, a.operation, a.status, {request} AS request, a.decision,
           a.risk_level, a.approval_id, a.parent_action_id, a.created_at, a.updated_at, a.body_state,
           ARRAY(SELECT t.tag FROM action_tags t WHERE t.org_id = a.org_id AND t.action_id = a.action_id ORDER BY t.tag)
               AS tags,
           e.execution_id, e.status AS execution_status, e.attempts, e.started_at, e.completed_at, e.error, e.result,
           {failed} AS has_failed
    FROM actions a LEFT JOIN LATERAL (
        SELECT * FROM executions x WHERE x.org_id = a.org_id AND x.action_id = a.action_id
        ORDER BY x.execution_id DESC LIMIT 1
    ) e ON true
"""
_FAILED: Final = sql.SQL(HAS_FAILED)
_SELECT: Final = sql.SQL(_ROWS).format(request=sql.SQL("a.request"), failed=_FAILED)
_SELECT_BEGINNINGS: Final = sql.SQL(_ROWS).format(
    request=sql.SQL("left(a.request, {})").format(sql.Literal(BEGINNING_CHARACTERS)), failed=_FAILED
)


class ActionFilter(Struct, frozen=True):
    """What to list; None means any. ``from_id`` and ``before_id`` bound the identifiers, which sort by time."""

    agent_id: str | None = None
    status: ActionStatus | None = None
    tool: str | None = None
    operation: str | None = None
    tag: str | None = None
    from_id: str | None = None
    before_id: str | None = None


class IdempotentAction(Struct, frozen=True):
    """The first submission with an idempotency key: its body's digest, and the action that it became."""

    action_id: str
    request_digest: bytes


async def get_action(
    connection: Connection, org_id: str, action_id: str, *, agent_id: str | None = None
) -> ActionDetail:
    """One action; with ``agent_id``, only that agent's. Raises NotFoundError.

    One whose approval the clock has just ended is denied, whether or not the worker has come by since.
    """
    query = sql.SQL("{} WHERE a.org_id = %s AND a.action_id = %s").format(_SELECT)
    row = await (await connection.execute(query, [org_id, action_id])).fetchone()
    if row is None or (agent_id is not None and row["agent_id"] != agent_id):
        raise NotFoundError(f"no action {action_id}")
    action = _action(row)
    approval = None
    if action.approval_id is not None:
        approval = await _approval_of(connection, org_id, action.approval_id)
        if approval is not None and approval.status == "expired" and action.status is ActionStatus.PENDING_APPROVAL:
            action = replace(action, status=move(action_id, action.status, ActionStatus.DENIED))
    counted = await (
        await connection.execute(
            "SELECT count(*) AS delegated FROM actions WHERE org_id = %s AND parent_action_id = %s",
            [org_id, action_id],
        )
    ).fetchone()
    return ActionDetail(action, approval, int(counted["delegated"]) if counted is not None else 0)


async def _approval_of(connection: Connection, org_id: str, approval_id: str) -> ActionApproval | None:
    cursor = await connection.execute(
        "SELECT p.approval_id, p.decided_by, p.decided_at, p.comment, p.expires_at, p.edited_request, p.edited_by,"
        " p.edited_at, coalesce(u.email, u.name) AS approver, CASE WHEN p.status = 'pending'"
        " AND p.expires_at <= clock_timestamp() THEN 'expired' ELSE p.status END AS status"
        " FROM approvals p LEFT JOIN users u ON u.org_id = p.org_id AND u.user_id = p.decided_by"
        " WHERE p.org_id = %s AND p.approval_id = %s",
        [org_id, approval_id],
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    edit = None
    if row["status"] == "approved" and row["edited_at"] is not None:
        edit = ApprovedEdit(json.loads(row["edited_request"])["params"], row["edited_by"], row["edited_at"])
    return ActionApproval(
        row["approval_id"],
        row["status"],
        row["decided_by"],
        row["decided_at"],
        row["expires_at"],
        edit,
        row["comment"] if row["decided_by"] is not None else None,
        row["approver"],
    )


async def calls_of(connection: Connection, org_id: str, action_ids: Iterable[str]) -> dict[str, str]:
    """``tool.operation`` of these actions, by their ids."""
    cursor = await connection.execute(
        "SELECT action_id, tool, operation FROM actions WHERE org_id = %s AND action_id = ANY (%s)",
        [org_id, list(action_ids)],
    )
    return {row["action_id"]: f"{row['tool']}.{row['operation']}" async for row in cursor}


async def actions_of(connection: Connection, org_id: str, action_ids: Iterable[str]) -> list[Action]:
    """These actions, as they stand now, with the beginnings of their requests. Those that are not there are left
    out."""
    query = sql.SQL("{} WHERE a.org_id = %s AND a.action_id = ANY (%s)").format(_SELECT_BEGINNINGS)
    rows = await (await connection.execute(query, [org_id, list(action_ids)])).fetchall()
    return [_action(row) for row in rows]


async def list_actions(
    connection: Connection,
    org_id: str,
    wanted: ActionFilter,
    *,
    limit: int = 50,
    offset: int = 0,
    cursor: str | None = None,
    exact_total: bool = False,
) -> ActionPage:
    """Newest first, each with the beginning of its request (``read_beginning``). ``cursor`` is the id of the last
    action already seen. Planned for these very values: nearly all actions may have a status, or hardly any."""
    where, parameters = _conditions(org_id, wanted)
    source = sql.SQL("actions a WHERE {}").format(where)
    actions = await newest_actions(connection, org_id, wanted, limit=limit, offset=offset, cursor=cursor)
    shown = Shown(len(actions), limit, offset, cursor)
    total, is_minimum = await count_list(connection, source, parameters, shown, exact=exact_total, prepare=False)
    return ActionPage(
        actions=actions,
        total=total,
        total_is_minimum=is_minimum,
        next_cursor=actions[-1].action_id if len(actions) == limit else None,
    )


async def newest_actions(
    connection: Connection, org_id: str, wanted: ActionFilter, *, limit: int, offset: int = 0, cursor: str | None = None
) -> list[Action]:
    """A page of ``list_actions`` without its total."""
    where, parameters = _conditions(org_id, wanted)
    source = sql.SQL("actions a WHERE {}").format(where)
    # The page is found first: what is passed over on the way to it is not looked up.
    page = sql.SQL(
        "WITH page AS MATERIALIZED (SELECT a.action_id FROM {} {} ORDER BY a.action_id DESC"
        " LIMIT %(limit)s OFFSET %(offset)s)"
        " {} JOIN page ON page.action_id = a.action_id WHERE a.org_id = %(org)s ORDER BY a.action_id DESC"
    ).format(source, sql.SQL("" if cursor is None else "AND a.action_id < %(before)s"), _SELECT_BEGINNINGS)
    rows = await (
        await connection.execute(
            page, {**parameters, "before": cursor, "limit": limit, "offset": offset}, prepare=False
        )
    ).fetchall()
    return [_action(row) for row in rows]


async def by_idempotency_key(
    connection: Connection, org_id: str, agent_id: str, idempotency_key: str
) -> IdempotentAction | None:
    """What the key was first used for by this agent; None: never."""
    cursor = await connection.execute(
        "SELECT action_id, request_digest FROM idempotency_keys"
        " WHERE org_id = %s AND agent_id = %s AND idempotency_key = %s",
        [org_id, agent_id, idempotency_key],
    )
    row = await cursor.fetchone()
    return None if row is None else IdempotentAction(row["action_id"], bytes(row["request_digest"]))


async def move_action(
    connection: Connection, org_id: str, action_id: str, current: ActionStatus, target: ActionStatus, at: datetime
) -> None:
    """One legal move. Raises ConflictError where it is illegal, or the action is not ``current`` any more."""
    move(action_id, current, target)
    cursor = await connection.execute(
        "UPDATE actions SET status = %s, updated_at = %s WHERE org_id = %s AND action_id = %s AND status = %s",
        [target.value, at, org_id, action_id, current.value],
    )
    if cursor.rowcount != 1:
        raise ConflictError(f"action {action_id} is no longer {current}", details={"expected_status": current.value})


def _conditions(org_id: str, wanted: ActionFilter) -> tuple[sql.Composed, dict[str, object]]:
    parts: list[sql.Composable] = [sql.SQL("a.org_id = %(org)s")]
    values: dict[str, object] = {"org": org_id}
    given = {"agent_id": wanted.agent_id, "status": wanted.status, "tool": wanted.tool, "operation": wanted.operation}
    for name, value in given.items():
        if value is not None:
            parts.append(sql.SQL("a.{} = {}").format(sql.Identifier(name), sql.Placeholder(name)))
            values[name] = str(value)
    if wanted.tag is not None:
        parts.append(
            sql.SQL(
                "a.action_id IN (SELECT t.action_id FROM action_tags t WHERE t.org_id = %(org)s AND t.tag = %(tag)s)"
            )
        )
        values["tag"] = wanted.tag
    for name, value, sign in (("from_id", wanted.from_id, ">="), ("before_id", wanted.before_id, "<")):
        if value is not None:
            parts.append(sql.SQL("a.action_id {} {}").format(sql.SQL(sign), sql.Placeholder(name)))
            values[name] = value
    return sql.SQL(" AND ").join(parts), values


def _action(row: DictRow) -> Action:
    """Of a row whose ``request`` is whole, or its beginning."""
    request, decision = read_beginning(row["request"])[0], json.loads(row["decision"])
    return Action(
        org_id=row["org_id"],
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        source=row["source"],
        tool=row["tool"],
        operation=row["operation"],
        status=ActionStatus(row["status"]),
        request=recorded_request(request),
        decision=RecordedDecision(
            decision=decision["decision"],
            reason=decision["reason"],
            risk_level=decision["risk_level"],
            policy_id=decision["policy_id"],
            evaluation_time_ms=decision["evaluation_time_ms"],
            policies=decision.get("policies", []),
            nlp=decision.get("nlp", []),
            canaries=decision.get("canaries", []),
            masked=decision.get("masked"),
        ),
        risk_level=row["risk_level"],
        approval_id=row["approval_id"],
        parent_action_id=row["parent_action_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        execution=None if row["execution_id"] is None else _execution(row),
        has_failed=row["has_failed"],
        body_state=row["body_state"],
        tags=row["tags"],
    )


def recorded_request(document: Mapping[str, Any]) -> RecordedRequest:
    return RecordedRequest(
        params=document.get("params", {}),
        context=document.get("context"),
        delegation=document.get("delegation"),
        http=document.get("http"),
        provenance=document.get("provenance"),
        mcp=document.get("mcp"),
        unparsed_body=document.get(UNPARSED_BODY),
    )


def _execution(row: DictRow) -> Execution:
    return Execution(
        execution_id=row["execution_id"],
        status=ExecutionStatus(row["execution_status"]),
        attempts=row["attempts"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        error=row["error"],
        result=None if row["result"] is None else json.loads(row["result"]),
    )
