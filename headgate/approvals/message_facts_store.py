"""Reads what notifications about actions and approvals state, for many at a time."""

import json
from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from headgate.approvals.rows import requirements_from
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.protocols.names import CALL_TOOLS


class MessageFacts(Struct, frozen=True):
    """An action with its approval, if any. ``status`` is the approval's current status; ``http`` is the masked request
    of a call without a catalogue entry."""

    action_id: str
    agent_id: str
    agent_name: str | None
    tool: str
    operation: str
    source: str
    risk_level: str
    reason: str
    approval_id: str | None
    status: str | None
    required_approvals: int | None
    current_approvals: int | None
    requested_at: datetime | None
    expires_at: datetime | None
    assignees: tuple[str, ...]
    http: JsonObject | None


async def message_facts(connection: Connection, org_id: str, action_ids: Collection[str]) -> dict[str, MessageFacts]:
    """By action."""
    cursor = await connection.execute(
        "SELECT a.action_id, a.agent_id, g.name AS agent_name, a.tool, a.operation, a.source, a.risk_level, a.decision,"
        " CASE WHEN a.tool = ANY (%s) THEN a.request END AS request,"
        " p.approval_id, p.status, p.reason, p.required_approvals, p.current_approvals, p.requirements,"
        " p.created_at AS requested_at, p.expires_at"
        " FROM actions a LEFT JOIN agents g ON g.org_id = a.org_id AND g.agent_id = a.agent_id"
        " LEFT JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id"
        " WHERE a.org_id = %s AND a.action_id = ANY (%s)",
        [list(CALL_TOOLS), org_id, list(action_ids)],
    )
    found: dict[str, MessageFacts] = {}
    for row in await cursor.fetchall():
        requirements = [] if row["requirements"] is None else requirements_from(row["requirements"])
        found[row["action_id"]] = MessageFacts(
            action_id=row["action_id"],
            agent_id=row["agent_id"],
            agent_name=row["agent_name"],
            tool=row["tool"],
            operation=row["operation"],
            source=row["source"],
            risk_level=row["risk_level"],
            reason=row["reason"] or json.loads(row["decision"]).get("reason") or "",
            approval_id=row["approval_id"],
            status=row["status"],
            required_approvals=row["required_approvals"],
            current_approvals=row["current_approvals"],
            requested_at=row["requested_at"],
            expires_at=row["expires_at"],
            assignees=tuple(dict.fromkeys(name for one in requirements for name in one.named)),
            http=None if row["request"] is None else json.loads(row["request"]).get("http"),
        )
    return found
