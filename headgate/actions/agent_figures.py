"""What an agent has done in figures: over its newest actions of some days, so that asking costs the same for all."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.db.database import Connection
from headgate.kernel.ids import IdPrefix, earliest_id

MOST_COUNTED: Final = 10_000
_MOST_TOOLS: Final = 50
_SKEW: Final = timedelta(hours=1)

# Which decision an action was given follows from what it became (docs/architecture.md, the states of an action):
# with an approval it was require_approval; without one only a deny makes it denied.
_DECISION: Final = (
    "CASE WHEN n.approval_id IS NOT NULL THEN 'require_approval' WHEN n.status = 'denied' THEN 'deny' ELSE 'allow' END"
)
# The identifiers' order is (nearly) that of time, and their index ends where the time does.
_NEWEST: Final = """
    WITH newest AS MATERIALIZED (
        SELECT a.tool, a.operation, a.status, a.approval_id, a.created_at FROM actions a
        WHERE a.org_id = %(org)s AND a.agent_id = %(agent)s AND a.action_id >= %(floor)s AND a.created_at >= %(since)s
        ORDER BY a.action_id DESC LIMIT %(most)s
    )
"""
_COUNTS: Final = f"""{_NEWEST}
    SELECT {_DECISION} AS decision, n.status, count(*) AS actions, max(n.created_at) AS newest_at
    FROM newest n GROUP BY 1, 2
"""  # noqa: S608 - constants of this file
_TOOLS: Final = f"""{_NEWEST}
    SELECT n.tool, n.operation, count(*) AS actions, max(n.created_at) AS last_at
    FROM newest n GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT {_MOST_TOOLS}
"""  # noqa: S608 - constants of this file
_HOLDS: Final = """
    SELECT CASE WHEN p.status = 'pending' AND p.expires_at <= clock_timestamp() THEN 'expired'
                ELSE p.status END AS status, count(*) AS holds
    FROM (SELECT x.status, x.expires_at FROM approvals x
          WHERE x.org_id = %(org)s AND x.agent_id = %(agent)s AND x.created_at >= %(since)s LIMIT %(most)s) p
    GROUP BY 1
"""


class ToolUse(Struct, frozen=True):
    tool: str
    operation: str
    actions: int
    last_at: datetime


class AgentFigures(Struct, frozen=True):
    """``is_minimum``: there are more actions in the time than were counted."""

    actions: int
    is_minimum: bool
    decisions: Mapping[str, int]
    statuses: Mapping[str, int]
    holds: Mapping[str, int]
    last_action_at: datetime | None
    tools: Sequence[ToolUse]


async def agent_figures(connection: Connection, org_id: str, agent_id: str, since: datetime) -> AgentFigures:
    """Of the actions since then, the newest ``MOST_COUNTED``."""
    floor = earliest_id(IdPrefix.ACTION, since, -_SKEW)
    values = {"org": org_id, "agent": agent_id, "since": since, "floor": floor, "most": MOST_COUNTED}
    # Only the newest are wanted: reading backwards by the index stops there. A bitmap reads and sorts all of the time
    # first, which the planner prefers where that is a day (measured with 500,000 actions: nine times as long).
    await connection.execute(
        "SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)"
    )
    counted = await (await connection.execute(_COUNTS, values)).fetchall()
    tools = await (await connection.execute(_TOOLS, values)).fetchall()
    holds = await (await connection.execute(_HOLDS, values)).fetchall()
    decisions = dict.fromkeys(("allow", "deny", "require_approval"), 0)
    statuses: dict[str, int] = {}
    for row in counted:
        decisions[row["decision"]] += row["actions"]
        statuses[row["status"]] = statuses.get(row["status"], 0) + row["actions"]
    total = sum(decisions.values())
    return AgentFigures(
        actions=total,
        is_minimum=total >= MOST_COUNTED,
        decisions=decisions,
        statuses=statuses,
        holds={
            **dict.fromkeys(("pending", "approved", "denied", "expired"), 0),
            **{row["status"]: row["holds"] for row in holds},
        },
        last_action_at=max((row["newest_at"] for row in counted), default=None),
        tools=[ToolUse(row["tool"], row["operation"], row["actions"], row["last_at"]) for row in tools],
    )
