"""How long a list is: exactly up to a limit, because counting on costs time and nobody reads the number."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from psycopg import sql

from headgate.db.database import Connection

EXACT_TOTAL_LIMIT: Final = 10_000


class BoundedCount(NamedTuple):
    """``total`` rows, or at least so many where ``is_minimum``."""

    total: int
    is_minimum: bool


async def count_rows(
    connection: Connection, source: sql.Composable, parameters: Mapping[str, object], *, exact: bool
) -> BoundedCount:
    """Count the rows of ``source`` (``table WHERE conditions``), without the limit where ``exact`` is asked for."""
    query = sql.SQL("SELECT count(*) AS total FROM (SELECT FROM {} LIMIT %(count_limit)s) matching").format(source)
    limit = None if exact else EXACT_TOTAL_LIMIT + 1  # LIMIT NULL is none
    row = await (await connection.execute(query, {**parameters, "count_limit": limit})).fetchone()
    total = 0 if row is None else int(row["total"])
    if exact or total <= EXACT_TOTAL_LIMIT:
        return BoundedCount(total, is_minimum=False)
    return BoundedCount(EXACT_TOTAL_LIMIT, is_minimum=True)
