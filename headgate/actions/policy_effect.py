"""How many calls each policy decided in seven days, by its decision.

Of each day only the newest calls are looked at, so that the answer costs the same for any number of calls.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.actions.overview import Counts
from headgate.db.database import Connection
from headgate.kernel.ids import IdPrefix, earliest_id

LOOKED_AT_MAX: Final = 20_000
_DAYS: Final = 7

# As in overview: with an approval the decision was require_approval; without one only a deny makes it denied.
_STATEMENT: Final = """
    SELECT n.policy_id, n.decision, b.day, count(*) AS calls
    FROM unnest(%(floors)s::text[], %(ceilings)s::text[]) WITH ORDINALITY AS b (floor, ceiling, day)
    CROSS JOIN LATERAL (
        SELECT coalesce(a.decision::json ->> 'policy_id', '') AS policy_id,
               CASE WHEN a.approval_id IS NOT NULL THEN 'held' WHEN a.status = 'denied' THEN 'denied'
                    ELSE 'allowed' END AS decision
        FROM actions a
        WHERE a.org_id = %(org)s AND a.action_id >= b.floor AND a.action_id < b.ceiling
        ORDER BY a.action_id DESC LIMIT %(most)s
    ) n
    GROUP BY n.policy_id, n.decision, b.day
"""


class PolicyEffect(Struct, frozen=True):
    """``policies``: by the policy whose decision counted; the empty name: none decided. ``is_minimum``: a day had more
    calls than were looked at."""

    since: datetime
    policies: Mapping[str, Counts]
    is_minimum: bool


async def policy_effect(connection: Connection, org_id: str, *, until: datetime) -> PolicyEffect:
    """Of the seven days before ``until``. The identifiers' order is that of time."""
    starts = [until - timedelta(days=_DAYS - number) for number in range(_DAYS + 1)]
    ids = [earliest_id(IdPrefix.ACTION, one) for one in starts]
    most = LOOKED_AT_MAX // _DAYS
    # As in agent_figures: reading backwards by the index stops at the limit, which a bitmap does not.
    await connection.execute(
        "SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)"
    )
    values = {"org": org_id, "floors": ids[:-1], "ceilings": ids[1:], "most": most}
    counted: dict[str, dict[str, int]] = {}
    days: dict[int, int] = {}
    for row in await (await connection.execute(_STATEMENT, values)).fetchall():
        of_policy = counted.setdefault(row["policy_id"], {})
        of_policy[row["decision"]] = of_policy.get(row["decision"], 0) + row["calls"]
        days[row["day"]] = days.get(row["day"], 0) + row["calls"]
    policies = {policy_id: Counts(calls=sum(one.values()), **one) for policy_id, one in counted.items()}
    return PolicyEffect(starts[0], policies, any(calls >= most for calls in days.values()))
