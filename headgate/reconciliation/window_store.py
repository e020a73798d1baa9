"""Reads a window of actions with all their rows and events in one statement, and so in one snapshot: an event that is
being recorded or applied is seen before or after, never halfway.

Windows follow the actions' identifiers and are bounded by actions and by events, whichever are more: deleted rows leave
their events behind, and vice versa. Events without a chain entry are excluded.
"""

import json
from datetime import datetime
from typing import Any, Final

from psycopg import sql
from psycopg.rows import tuple_row

from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.reconciliation.model import (
    ActionEvent,
    ActionRow,
    ApprovalRow,
    Difference,
    ExecutionRow,
    Recorded,
    VoteRow,
)
from headgate.reconciliation.replay import COMPARED_EVENTS

_WINDOW_ACTIONS: Final = 500
_WINDOW_EVENTS: Final = 4_000
_STRAY_ROWS: Final = 5_000

_UNSEALED: Final = 1 << 62
"""Sequence numbers of unsealed events start here, above every number of the chain."""

_BOUNDS: Final = """
    SELECT (SELECT a.action_id FROM actions a WHERE a.org_id = %(org)s AND a.action_id > %(after)s
            ORDER BY a.action_id OFFSET %(actions)s LIMIT 1) AS by_action,
           (SELECT e.action_id FROM audit_events e WHERE e.org_id = %(org)s AND e.action_id > %(after)s
            ORDER BY e.action_id OFFSET %(events)s LIMIT 1) AS by_event
"""

# Times as in event headers; infinity, which to_char cannot format, is written unchanged.
_TIME: Final = "coalesce(rfc3339({0}), {0}::text)"
_DIGEST: Final = "'sha256:' || encode({0}, 'hex')"
_DIGEST_OF: Final = "'sha256:' || encode(sha256(convert_to({0}, 'UTF8')), 'hex')"


def _array(*columns: str) -> str:
    return f"ARRAY[{', '.join(f'({column})::text' for column in columns)}]"


def _times(alias: str, *names: str) -> list[str]:
    return [_TIME.format(f"{alias}.{name}") for name in names]


def _plain(alias: str, *names: str) -> list[str]:
    return [f"{alias}.{name}" for name in names]


_ACTION: Final = _array(
    *_plain("a", "agent_id", "key_id", "source", "tool", "operation", "status"),
    _DIGEST.format("a.digest"), _DIGEST_OF.format("a.request"),
    *_plain("a", "decision", "risk_level", "approval_id", "parent_action_id"),
    *_times("a", "created_at", "updated_at"), "a.body_state",
    "CASE WHEN a.body_state <> 'clear' THEN left(a.request, 200) END",
)  # fmt: skip
_APPROVAL: Final = _array(
    *_plain("p", "approval_id", "action_id", "agent_id", "source", "tool"), _DIGEST.format("p.digest"),
    *_plain("p", "status", "requirements", "required_approvals", "current_approvals", "reason", "risk_level",
            "policy_id", "repeats"),
    *_times("p", "created_at", "expires_at", "decided_at"), *_plain("p", "decided_by", "comment"),
    *_times("p", "used_at"), "p.used_by", *_times("p", "escalate_at", "escalated_at"),
    _DIGEST_OF.format("p.edited_request"), _DIGEST.format("p.edited_digest"),
    *_plain("p", "edited_decision", "edited_by"), *_times("p", "edited_at"),
)  # fmt: skip
_VOTE: Final = _array(
    *_plain("v", "approval_id", "user_id", "decision", "reason"), *_times("v", "decided_at"),
    *_plain("v", "key_id", "email", "as_admin", "standing", "on_behalf_of"), _DIGEST.format("v.digest"),
)  # fmt: skip
_EXECUTION: Final = _array(
    *_plain("x", "execution_id", "status", "attempts"), *_times("x", "started_at", "completed_at"), "x.error",
    _DIGEST_OF.format("x.result"),
)  # fmt: skip
_EVENT: Final = ("event_type", "agent_id")


def _window(within: str) -> str:
    """``within``: the condition that the action of alias ``t`` is in the window."""

    def of(alias: str) -> str:
        return f"{alias}.org_id = %(org)s AND " + within.format(alias)

    event = _array(*_plain("e", *_EVENT), *_times("e", "created_at"), "e.payload")
    unsealed = _array(*_plain("i", *_EVENT), *_times("i", "created_at"), "i.payload")
    return f"""
        SELECT 'a', a.action_id, 0::bigint, {_ACTION} FROM actions a WHERE {of("a")}
        UNION ALL
        SELECT 'p', a.action_id, 0, {_APPROVAL} FROM actions a
        JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id WHERE {of("a")}
        UNION ALL
        SELECT 'v', a.action_id, 0, {_VOTE} FROM actions a
        JOIN approval_votes v ON v.org_id = a.org_id AND v.approval_id = a.approval_id WHERE {of("a")}
        UNION ALL
        SELECT 'x', x.action_id, 0, {_EXECUTION} FROM executions x WHERE {of("x")}
        UNION ALL
        SELECT 'e', e.action_id, e.seq, {event} FROM audit_events e WHERE {of("e")} AND e.event_type = ANY (%(types)s)
          AND e.seq BETWEEN 1 AND (SELECT max(c.seq) FROM audit_chain c WHERE c.org_id = %(org)s)
        UNION ALL
        SELECT 'e', i.action_id, {_UNSEALED} + i.journal_id, {unsealed} FROM journal i
        WHERE {of("i")} AND i.event_type = ANY (%(types)s)
    """  # noqa: S608 - names of columns only


_WINDOW: Final = _window("{0}.action_id > %(after)s AND {0}.action_id <= %(upper)s")
_LAST_WINDOW: Final = _window("{0}.action_id > %(after)s")

_STRAY_APPROVALS: Final = """
    WITH page AS MATERIALIZED (
        SELECT p.approval_id, p.action_id FROM approvals p WHERE p.org_id = %(org)s AND p.approval_id > %(after)s
        ORDER BY p.approval_id LIMIT %(rows)s)
    SELECT (SELECT max(approval_id) FROM page) AS last,
           ARRAY(SELECT p.approval_id FROM page p WHERE NOT EXISTS (
               SELECT FROM actions a WHERE a.org_id = %(org)s AND a.action_id = p.action_id
               AND a.approval_id = p.approval_id) ORDER BY 1 LIMIT %(most)s) AS strays
"""
_STRAY_VOTES: Final = """
    WITH page AS MATERIALIZED (
        SELECT v.approval_id FROM approval_votes v WHERE v.org_id = %(org)s AND v.approval_id > %(after)s
        ORDER BY v.approval_id FETCH FIRST %(rows)s ROWS WITH TIES)
    SELECT (SELECT max(approval_id) FROM page) AS last,
           ARRAY(SELECT DISTINCT v.approval_id FROM page v WHERE NOT EXISTS (
               SELECT FROM approvals p WHERE p.org_id = %(org)s AND p.approval_id = v.approval_id)
               ORDER BY 1 LIMIT %(most)s) AS strays
"""
STRAYS: Final = {"approvals": _STRAY_APPROVALS, "approval_votes": _STRAY_VOTES}
"""Rows without an action, by table."""

_DROPS: Final = """
    SELECT e.payload FROM audit_events e WHERE e.org_id = %(org)s AND e.event_type = 'body.dropped'
      AND e.seq BETWEEN 1 AND (SELECT max(c.seq) FROM audit_chain c WHERE c.org_id = %(org)s)
    UNION ALL SELECT i.payload FROM journal i WHERE i.org_id = %(org)s AND i.event_type = 'body.dropped'
"""


_MISSED: Final = """
    SELECT e.event_id, e.payload FROM audit_events e
    WHERE e.org_id = %(org)s AND e.event_type = 'journal_entry.missed'
      AND (%(start)s::timestamptz IS NULL OR e.created_at >= %(start)s)
      AND (%(end)s::timestamptz IS NULL OR e.created_at <= %(end)s)
    ORDER BY e.seq LIMIT %(most)s
"""


async def missed_entries(
    connection: Connection, org_id: str, start: datetime | None, end: datetime | None, most: int
) -> list[Difference]:
    """What the applier missed: entries that a process wrote to the journal, and that never were applied."""
    values = {"org": org_id, "start": start, "end": end, "most": most}
    rows = await (await connection.execute(_MISSED, values)).fetchall()
    return [one for row in rows for one in _missed(row["event_id"], row["payload"])]


def _missed(event_id: str, payload: str | None) -> list[Difference]:
    data, _ = _payload(payload)
    if data is None or not {"written", "applied"} <= data.keys():  # erased or changed: no retention rule reaches it
        return [Difference("journal", event_id, "entries", "all that were written", "fewer")]
    events = data.get("events")
    if not isinstance(events, list) or not events:
        return [Difference("journal", event_id, "entries", str(data["written"]), str(data["applied"]))]
    return [
        Difference("audit_events", str(one.get("action_id") or event_id), str(one.get("event_type")), "an event", None)
        for one in events
        if isinstance(one, dict)
    ]


async def count_actions(connection: Connection) -> int:
    """The server's estimates, for a progress bar."""
    cursor = await connection.execute(
        "SELECT greatest(reltuples, 0)::bigint AS actions FROM pg_class WHERE oid = 'actions'::regclass"
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row["actions"])


async def next_bound(connection: Connection, org_id: str, after: str) -> str | None:
    """The last action of the window that starts after ``after``; None: the rest is one window."""
    values = {"org": org_id, "after": after, "actions": _WINDOW_ACTIONS - 1, "events": _WINDOW_EVENTS}
    row = await (await connection.execute(_BOUNDS, values, prepare=False)).fetchone()
    found = [] if row is None else [one for one in (row["by_action"], row["by_event"]) if one is not None]
    return min(found, default=None)


async def load_window(connection: Connection, org_id: str, after: str, upper: str | None) -> dict[str, Recorded]:
    """Rows by action, after ``after`` up to ``upper`` (None: all)."""
    values: dict[str, Any] = {"org": org_id, "after": after, "upper": upper, "types": list(COMPARED_EVENTS)}
    window: dict[str, Recorded] = {}
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(sql.SQL(_LAST_WINDOW if upper is None else _WINDOW), values, prepare=False)
        for kind, action_id, place, row in await cursor.fetchall():
            found = window.get(action_id)
            if found is None:
                found = window[action_id] = Recorded()
            match kind:
                case "e":
                    found.events.append((place, _event(row)))
                case "a":
                    found.action = ActionRow(*row)
                case "p":
                    found.approvals.append(ApprovalRow(*row))
                case "v":
                    found.votes.append(VoteRow(*row))
                case _:
                    found.executions.append(ExecutionRow(*row))
    return window


def _event(row: list[Any]) -> ActionEvent:
    event_type, agent_id, created_at, text = row
    data, actor = _payload(text)
    return ActionEvent(event_type, agent_id, created_at, data, actor)


def _payload(text: str | None) -> tuple[JsonObject | None, JsonObject | None]:
    """The data and the actor. The chain verification checks that the text is the sealed one."""
    try:
        found = {} if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None, None
    data, actor = (found.get("data"), found.get("actor")) if isinstance(found, dict) else (None, None)
    return (data, actor) if isinstance(data, dict) and isinstance(actor, dict) else (None, None)


async def strays(
    connection: Connection, org_id: str, table: str, after: str, most: int
) -> tuple[list[str], str | None]:
    """Identifiers without an action among the next rows of ``table``, and where to continue; None: done."""
    values = {"org": org_id, "after": after, "rows": _STRAY_ROWS, "most": most}
    row = await (await connection.execute(sql.SQL(STRAYS[table]), values, prepare=False)).fetchone()
    return ([], None) if row is None else (list(row["strays"]), row["last"])


async def dropped_ranges(connection: Connection, org_id: str) -> list[tuple[str, str]]:
    """The first and last action of each range whose bodies retention rules dropped."""
    cursor = await connection.execute(_DROPS, {"org": org_id})
    found = [_payload(row["payload"])[0] for row in await cursor.fetchall()]
    return [
        (str(one["first_action_id"]), str(one["last_action_id"])) for one in found if one is not None and _is_drop(one)
    ]


def _is_drop(data: JsonObject) -> bool:
    return data.get("kind") == "bodies" and {"first_action_id", "last_action_id"} <= data.keys()
