"""Reading actions, and moving their status. New actions are written by ``record_actions`` and ``hold_action``."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from psycopg import sql
from psycopg.rows import DictRow

from headgate.actions.model import (
    Action,
    ActionApproval,
    ActionDetail,
    ActionPage,
    ActionStatus,
    Execution,
    ExecutionStatus,
    RecordedDecision,
    RecordedRequest,
    move,
)
from headgate.db.bounded_count import count_rows
from headgate.db.database import Connection
from headgate.db.rounds import Share
from headgate.kernel.errors import ConflictError, NotFoundError

_FOLD_LIMIT: Final = 1_000
_MAX_FOLDS_BEFORE_READING: Final = 10

_SELECT: Final = sql.SQL("""
    SELECT a.org_id, a.action_id, a.agent_id, a.source, a.tool, a.operation, a.status, a.request, a.decision,
           a.risk_level, a.approval_id, a.parent_action_id, a.created_at, a.updated_at,
           e.execution_id, e.status AS execution_status, e.attempts, e.started_at, e.completed_at, e.error, e.result
    FROM actions a LEFT JOIN LATERAL (
        SELECT * FROM executions x WHERE x.org_id = a.org_id AND x.action_id = a.action_id
        ORDER BY x.execution_id DESC LIMIT 1
    ) e ON true
""")


@dataclass(frozen=True, slots=True)
class ActionFilter:
    """What to list; None means any."""

    agent_id: str | None = None
    status: ActionStatus | None = None


@dataclass(frozen=True, slots=True)
class IdempotentAction:
    """The first submission with an idempotency key: its body's digest, and the action that it became."""

    action_id: str
    request_digest: bytes


async def fold_outcomes(connection: Connection, org_id: str) -> int:
    """Move how executions ended into executions and actions, so that a status read next is current.

    Returns how many outcomes were moved; 0 also where another process is at it.
    """
    folded = 0
    for _ in range(_MAX_FOLDS_BEFORE_READING):
        cursor = await connection.execute("SELECT fold_outcomes(%s, %s) AS folded", [org_id, _FOLD_LIMIT])
        row = await cursor.fetchone()
        count = int(row["folded"]) if row is not None else 0
        folded += count
        if count < _FOLD_LIMIT:
            break
    return folded


async def fold_due(connection: Connection) -> list[Share]:
    """Fold what every organization has waiting, a bounded number in all."""
    cursor = await connection.execute("SELECT org_id, folded, failure FROM fold_due(%s)", [_FOLD_LIMIT])
    return [Share(row["org_id"], int(row["folded"]), row["failure"]) for row in await cursor.fetchall()]


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
        "SELECT approval_id, decided_by, decided_at, expires_at,"
        " CASE WHEN status = 'pending' AND expires_at <= clock_timestamp() THEN 'expired' ELSE status END AS status"
        " FROM approvals WHERE org_id = %s AND approval_id = %s",
        [org_id, approval_id],
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return ActionApproval(row["approval_id"], row["status"], row["decided_by"], row["decided_at"], row["expires_at"])


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
    """Newest first. ``cursor`` is the id of the last action already seen."""
    where, parameters = _conditions(org_id, wanted)
    source = sql.SQL("actions a WHERE {}").format(where)
    total, is_minimum = await count_rows(connection, source, parameters, exact=exact_total)
    page = sql.SQL("{} WHERE {} {} ORDER BY a.action_id DESC LIMIT %(limit)s OFFSET %(offset)s").format(
        _SELECT, where, sql.SQL("" if cursor is None else "AND a.action_id < %(before)s")
    )
    rows = await (
        await connection.execute(page, {**parameters, "before": cursor, "limit": limit, "offset": offset})
    ).fetchall()
    actions = [_action(row) for row in rows]
    return ActionPage(
        actions=actions,
        total=total,
        total_is_minimum=is_minimum,
        next_cursor=actions[-1].action_id if len(actions) == limit else None,
    )


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
    parts = [sql.SQL("a.org_id = %(org)s")]
    values: dict[str, object] = {"org": org_id}
    if wanted.agent_id is not None:
        parts.append(sql.SQL("a.agent_id = %(agent)s"))
        values["agent"] = wanted.agent_id
    if wanted.status is not None:
        parts.append(sql.SQL("a.status = %(status)s"))
        values["status"] = wanted.status.value
    return sql.SQL(" AND ").join(parts), values


def _action(row: DictRow) -> Action:
    request, decision = json.loads(row["request"]), json.loads(row["decision"])
    return Action(
        org_id=row["org_id"],
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        source=row["source"],
        tool=row["tool"],
        operation=row["operation"],
        status=ActionStatus(row["status"]),
        request=RecordedRequest(
            params=request["params"],
            context=request.get("context"),
            delegation=request.get("delegation"),
            http=request.get("http"),
        ),
        decision=RecordedDecision(
            decision=decision["decision"],
            reason=decision["reason"],
            risk_level=decision["risk_level"],
            policy_id=decision["policy_id"],
            evaluation_time_ms=decision["evaluation_time_ms"],
            policies=decision.get("policies", []),
        ),
        risk_level=row["risk_level"],
        approval_id=row["approval_id"],
        parent_action_id=row["parent_action_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        execution=None if row["execution_id"] is None else _execution(row),
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
