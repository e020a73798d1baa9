"""All SQL of shadow policies' verdicts."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from headgate.audit.model import EventType
from headgate.audit.written_events import WrittenEvent, note_events
from headgate.db.database import Connection


class ShadowCount(Struct, frozen=True):
    """The number of calls with this pair of verdicts; ``said`` none: no verdict."""

    org_id: str
    policy_id: str
    version: int
    said: str
    decided: str
    would: str
    calls: int
    at: datetime


class ShadowEvent(Struct, frozen=True):
    """``decision.shadowed``: the shadow verdicts on one recorded action. ``payload`` is canonical."""

    org_id: str
    action_id: str
    agent_id: str
    at: datetime
    payload: str


class ShadowTally(Struct, frozen=True):
    """The counts of one policy version, ``since`` its first call."""

    asked: int
    said: dict[str, int]
    would_change: int
    changes: dict[str, int]
    since: datetime | None


async def record_shadow(connection: Connection, counts: Sequence[ShadowCount], events: Sequence[ShadowEvent]) -> None:
    """Writes across organizations, for the evaluating process."""
    cursor = await connection.execute(
        "SELECT record_shadow(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) AS written",
        [
            [one.org_id for one in counts],
            [one.policy_id for one in counts],
            [one.version for one in counts],
            [one.said for one in counts],
            [one.decided for one in counts],
            [one.would for one in counts],
            [one.calls for one in counts],
            [one.at for one in counts],
            [one.org_id for one in events],
            [one.action_id for one in events],
            [one.agent_id for one in events],
            [one.at for one in events],
            [one.payload for one in events],
        ],
    )
    row = await cursor.fetchone()
    known = set() if row is None else set(row["written"])
    for one in events:
        if f"{one.org_id} {one.agent_id}" not in known:
            continue
        shadowed = WrittenEvent(EventType.DECISION_SHADOWED.value, one.action_id, one.agent_id, one.at, one.payload)
        note_events(connection, one.org_id, [shadowed])


async def shadow_tally(connection: Connection, org_id: str, policy_id: str, version: int) -> ShadowTally:
    """Counts this version only."""
    cursor = await connection.execute(
        "SELECT said, decided, would, calls, first_at FROM shadow_counts"
        " WHERE org_id = %s AND policy_id = %s AND version = %s",
        [org_id, policy_id, version],
    )
    rows = await cursor.fetchall()
    said: dict[str, int] = {}
    changes: dict[str, int] = {}
    for row in rows:
        said[row["said"]] = said.get(row["said"], 0) + row["calls"]
        if row["would"] != row["decided"]:
            name = f"{row['decided']} -> {row['would']}"
            changes[name] = changes.get(name, 0) + row["calls"]
    return ShadowTally(
        asked=sum(said.values()),
        said=said,
        would_change=sum(changes.values()),
        changes=changes,
        since=min((row["first_at"] for row in rows), default=None),
    )
