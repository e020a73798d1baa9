"""The context of an approval request: the agent, its user, and earlier decisions on similar actions.

Every query is bounded and uses an index, however many approvals exist.
"""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, JsonValue

_SIMILAR_LOOKED_AT: Final = 200
_SIMILAR_SHOWN: Final = 5


class Asked(Struct, frozen=True):
    """The stored action with secrets masked. ``policies`` are the policies that decided; ``nlp`` are the content
    policies."""

    action_id: str
    agent_id: str
    agent_name: str | None
    agent_description: str | None
    tool: str
    operation: str
    request: JsonObject
    policies: Sequence[JsonValue]
    nlp: Sequence[JsonValue]
    parent_action_id: str | None
    digest: bytes

    @property
    def policy_ids(self) -> set[str]:
        """Those of the rule policies that decided and of the content policies that ran."""
        rules = {str(one["id"]) for one in self.policies if isinstance(one, dict)}
        return rules | {str(one["policy_id"]) for one in self.nlp if isinstance(one, dict)}


class SimilarDecision(Struct, frozen=True):
    """An earlier approval of the same agent, tool and operation. ``outcome`` is the outcome of its action.
    ``decided_by_name``: the person's address, or name where there is none; None: an agent or a ticket decided."""

    approval_id: str
    status: str
    decided_at: datetime | None
    decided_by: str | None
    decided_by_name: str | None
    comment: str | None
    outcome: str
    same_request: bool


class SimilarDecisions(Struct, frozen=True):
    """Counts over the newest ``looked_at`` approvals; ``newest`` are the last few of them."""

    looked_at: int
    by_status: Counter[str]
    newest: Sequence[SimilarDecision]


async def asked_action(connection: Connection, org_id: str, action_id: str) -> Asked | None:
    cursor = await connection.execute(
        "SELECT a.action_id, a.agent_id, g.name, g.description, a.tool, a.operation, a.request, a.decision,"
        " a.parent_action_id, a.digest"
        " FROM actions a LEFT JOIN agents g ON g.org_id = a.org_id AND g.agent_id = a.agent_id"
        " WHERE a.org_id = %s AND a.action_id = %s",
        [org_id, action_id],
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    decision = json.loads(row["decision"])
    return Asked(
        row["action_id"],
        row["agent_id"],
        row["name"],
        row["description"],
        row["tool"],
        row["operation"],
        json.loads(row["request"]),
        decision.get("policies", []),
        decision.get("nlp", []),
        row["parent_action_id"],
        bytes(row["digest"]),
    )


async def similar_decisions(connection: Connection, org_id: str, asked: Asked) -> SimilarDecisions:
    """Returns earlier decisions on this agent's calls of this operation."""
    cursor = await connection.execute(
        "SELECT p.approval_id, p.decided_at, p.decided_by, coalesce(u.email, u.name) AS decided_by_name, p.comment,"
        " a.status AS outcome,"
        " a.digest = %(digest)s AS same_request,"
        " CASE WHEN p.status = 'pending' AND p.expires_at <= clock_timestamp() THEN 'expired' ELSE p.status END"
        " AS status"
        " FROM (SELECT x.org_id, x.action_id, x.approval_id, x.status, x.digest FROM actions x"
        " WHERE x.org_id = %(org)s AND x.agent_id = %(agent)s AND x.tool = %(tool)s"
        " AND x.operation = %(operation)s AND x.approval_id IS NOT NULL AND x.action_id <> %(action)s"
        " ORDER BY x.action_id DESC LIMIT %(most)s) a"
        " JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id"
        " LEFT JOIN users u ON u.org_id = p.org_id AND u.user_id = p.decided_by ORDER BY a.action_id DESC",
        {
            "org": org_id,
            "agent": asked.agent_id,
            "tool": asked.tool,
            "operation": asked.operation,
            "action": asked.action_id,
            "digest": asked.digest,
            "most": _SIMILAR_LOOKED_AT,
        },
    )
    rows = await cursor.fetchall()
    decided = [row for row in rows if row["status"] != "pending"]
    return SimilarDecisions(
        looked_at=len(rows),
        by_status=Counter(row["status"] for row in rows),
        newest=[
            SimilarDecision(
                row["approval_id"],
                row["status"],
                row["decided_at"],
                row["decided_by"],
                row["decided_by_name"],
                row["comment"],
                row["outcome"],
                row["same_request"],
            )
            for row in decided[:_SIMILAR_SHOWN]
        ],
    )


async def identical_pending(
    connection: Connection, org_id: str, calls: Sequence[tuple[str, bytes]]
) -> dict[tuple[str, bytes], list[str]]:
    """For each agent and digest: the open approvals of exactly this action, oldest first."""
    wanted = sorted(set(calls))
    cursor = await connection.execute(
        "SELECT p.agent_id, p.digest, array_agg(p.approval_id ORDER BY p.approval_id) AS approvals"
        " FROM unnest(%s::text[], %s::bytea[]) AS c(agent_id, digest)"
        " JOIN approvals p ON p.org_id = %s AND p.agent_id = c.agent_id AND p.digest = c.digest"
        " WHERE p.status = 'pending' AND p.expires_at > clock_timestamp() GROUP BY p.agent_id, p.digest",
        [[agent_id for agent_id, _ in wanted], [digest for _, digest in wanted], org_id],
    )
    return {(row["agent_id"], bytes(row["digest"])): list(row["approvals"]) for row in await cursor.fetchall()}
