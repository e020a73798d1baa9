"""SQL of how often connections are used."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple

from msgspec import Struct

from headgate.db.database import Connection


class UseCount(NamedTuple):
    org_id: str
    connection_id: str
    agent_id: str
    uses: int
    rejected: int


async def count_uses(connection: Connection, counts: Sequence[UseCount], at: datetime) -> None:
    """Over all organizations; those of connections that are not there are dropped."""
    columns = [list(column) for column in zip(*counts, strict=True)]
    await connection.execute("SELECT count_connection_uses(%s, %s, %s, %s, %s, %s)", [*columns, at])


class DayOfUse(Struct, frozen=True):
    day: date
    agent_id: str
    uses: int
    rejected: int
    last_used_at: datetime


async def uses_of(connection: Connection, org_id: str, connection_id: str, *, days: int) -> Sequence[DayOfUse]:
    """The newest days first."""
    cursor = await connection.execute(
        "SELECT day, agent_id, uses, rejected, last_used_at FROM connection_uses WHERE org_id = %s"
        " AND connection_id = %s AND day > (clock_timestamp() AT TIME ZONE 'UTC')::date - %s::integer"
        " ORDER BY day DESC, uses DESC, agent_id LIMIT 1000",
        [org_id, connection_id, days],
    )
    return [DayOfUse(**row) for row in await cursor.fetchall()]
