"""An organization's calls over a time, in equal steps of it: what a person looks at first in the morning.

Of each step only the newest calls are looked at, so that the answer costs the same for any number of calls, and still
shows the whole time.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field

from headgate.actions.failed_calls import HAS_FAILED
from headgate.db.database import Connection
from headgate.kernel.ids import IdPrefix, earliest_id

LOOKED_AT_MAX: Final = 20_000
APPROVALS_MAX: Final = 5_000
_LISTED_MAX: Final = 8
_REASONS_MAX: Final = 3

# As in agent_figures: with an approval it was require_approval; without one only a deny makes it denied.
_CALLS: Final = f"""
    WITH looked_at AS MATERIALIZED (
        SELECT b.step, n.agent_id, n.tool, n.operation, n.has_failed,
               CASE WHEN n.approval_id IS NOT NULL THEN 'require_approval' WHEN n.status = 'denied' THEN 'deny'
                    ELSE 'allow' END AS decision,
               CASE WHEN n.approval_id IS NULL AND n.status = 'denied'
                    THEN coalesce(n.decision::json ->> 'policy_id', '') END AS denied_by,
               CASE WHEN n.approval_id IS NULL AND n.status = 'denied'
                    THEN left(coalesce(n.decision::json ->> 'reason', ''), 200) END AS denied_for
        FROM unnest(%(floors)s::text[], %(ceilings)s::text[]) WITH ORDINALITY AS b (floor, ceiling, step)
        CROSS JOIN LATERAL (
            SELECT a.agent_id, a.tool, a.operation, a.status, a.approval_id, a.decision, {HAS_FAILED} AS has_failed
            FROM actions a LEFT JOIN LATERAL (
                SELECT x.status, x.error FROM executions x
                WHERE a.status = 'approved' AND x.org_id = a.org_id AND x.action_id = a.action_id
                ORDER BY x.execution_id DESC LIMIT 1
            ) e ON true
            WHERE a.org_id = %(org)s AND a.action_id >= b.floor AND a.action_id < b.ceiling
            ORDER BY a.action_id DESC LIMIT %(most)s
        ) n
    ),
    counted AS (
        SELECT grouping(step) = 0 AS is_step, grouping(agent_id) = 0 AS is_agent, grouping(tool) = 0 AS is_tool,
               grouping(denied_for) = 0 AS is_reason, step, agent_id, tool, operation, denied_by, denied_for,
               row_number() OVER (PARTITION BY grouping(denied_for), denied_by
                                  ORDER BY count(*) DESC, denied_for) AS place,
               count(*) AS calls,
               count(*) FILTER (WHERE decision = 'allow') AS allowed,
               count(*) FILTER (WHERE decision = 'require_approval') AS held,
               count(*) FILTER (WHERE decision = 'deny') AS denied,
               count(*) FILTER (WHERE has_failed) AS failed
        FROM looked_at
        GROUP BY GROUPING SETS ((step), (agent_id), (tool, operation), (denied_by), (denied_by, denied_for))
    )
    SELECT * FROM counted WHERE NOT is_reason OR (denied_by IS NOT NULL AND place <= %(reasons)s)
    ORDER BY calls DESC, step, agent_id, tool, operation, denied_by, denied_for
"""  # noqa: S608 - a constant of failed_calls
_APPROVALS: Final = """
    SELECT count(*) FILTER (WHERE n.status = 'pending' AND n.expires_at > clock_timestamp()) AS open,
           count(*) FILTER (WHERE n.status = 'approved') AS approved,
           count(*) FILTER (WHERE n.status = 'denied') AS denied,
           count(*) FILTER (WHERE n.status = 'expired'
                            OR n.status = 'pending' AND n.expires_at <= clock_timestamp()) AS expired,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM n.decided_at - n.created_at))
               FILTER (WHERE n.decided_by IS NOT NULL) AS median_seconds,
           count(*) >= %(most)s AS is_minimum
    FROM (SELECT p.status, p.expires_at, p.created_at, p.decided_at, p.decided_by FROM approvals p
          WHERE p.org_id = %(org)s AND p.approval_id >= %(floor)s ORDER BY p.approval_id DESC LIMIT %(most)s) n
"""


class Counts(Struct, frozen=True):
    """``failed`` calls (``failed_calls``) are also among those that were allowed or held."""

    calls: int = 0
    allowed: int = 0
    held: int = 0
    denied: int = 0
    failed: int = 0


class Step(Struct, frozen=True):
    """``is_minimum``: more calls came in this step than were looked at."""

    at: datetime
    counts: Counts
    is_minimum: bool


class Holds(Struct, frozen=True):
    """Of the approval requests that were opened in the time. ``median_seconds``: from the request to a person's
    decision; None: nobody has decided. ``is_minimum``: more were opened than were looked at."""

    open: int
    approved: int
    denied: int
    expired: int
    median_seconds: float | None
    is_minimum: bool


class Overview(Struct, frozen=True):
    """``denied_by``: denials by policy; the empty name: no policy allowed the call. ``denied_for``: the three most
    frequent reasons of each, up to 200 characters."""

    since: datetime
    until: datetime
    steps: Sequence[Step]
    holds: Holds
    agents: Mapping[str, Counts] = field(default_factory=dict)
    tools: Mapping[tuple[str, str], Counts] = field(default_factory=dict)
    denied_by: Mapping[str, int] = field(default_factory=dict)
    denied_for: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def total(self) -> Counts:
        each = [one.counts for one in self.steps]
        return Counts(
            *(sum(getattr(one, name) for one in each) for name in ("calls", "allowed", "held", "denied", "failed"))
        )


async def overview(connection: Connection, org_id: str, *, until: datetime, step: timedelta, steps: int) -> Overview:
    """Of the ``steps`` times ``step`` before ``until``. The identifiers' order is that of time."""
    starts = [until - step * (steps - number) for number in range(steps + 1)]
    ids = [earliest_id(IdPrefix.ACTION, one) for one in starts]
    most = LOOKED_AT_MAX // steps
    # As in agent_figures: reading backwards by the index stops at the limit, which a bitmap does not.
    await connection.execute(
        "SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)"
    )
    values = {"org": org_id, "floors": ids[:-1], "ceilings": ids[1:], "most": most, "reasons": _REASONS_MAX}
    rows = await (await connection.execute(_CALLS, values)).fetchall()
    counted = {"org": org_id, "floor": earliest_id(IdPrefix.APPROVAL, starts[0]), "most": APPROVALS_MAX}
    held = await (await connection.execute(_APPROVALS, counted)).fetchone()
    by_step: dict[int, Counts] = {}
    agents: dict[str, Counts] = {}
    tools: dict[tuple[str, str], Counts] = {}
    denied_by: dict[str, int] = {}
    denied_for: dict[str, dict[str, int]] = {}
    for row in rows:
        counts = Counts(row["calls"], row["allowed"], row["held"], row["denied"], row["failed"])
        if row["is_step"]:
            by_step[int(row["step"]) - 1] = counts
        elif row["is_agent"]:
            agents[row["agent_id"]] = counts
        elif row["is_tool"]:
            tools[row["tool"], row["operation"]] = counts
        elif row["is_reason"]:
            denied_for.setdefault(row["denied_by"], {})[row["denied_for"]] = counts.calls
        elif row["denied_by"] is not None:
            denied_by[row["denied_by"]] = counts.calls
    found = [by_step.get(number, Counts()) for number in range(steps)]
    return Overview(
        since=starts[0],
        until=until,
        steps=[Step(at, one, one.calls >= most) for at, one in zip(starts, found, strict=False)],
        holds=Holds(0, 0, 0, 0, None, False) if held is None else Holds(**held),
        agents=dict(list(agents.items())[:_LISTED_MAX]),
        tools=dict(list(tools.items())[:_LISTED_MAX]),
        denied_by=dict(list(denied_by.items())[:_LISTED_MAX]),
        denied_for=denied_for,
    )
