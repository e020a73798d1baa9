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


class Shown(NamedTuple):
    """What one page of a list shows: how many ``rows``, of at most ``limit``, behind ``offset`` or ``cursor``."""

    rows: int
    limit: int
    offset: int = 0
    cursor: object = None

    @property
    def total(self) -> BoundedCount | None:
        """Of a first page that is not full: it is all there is, and what found it need not be asked again. None: the
        list is to be counted."""
        is_whole = self.rows < self.limit and self.rows <= EXACT_TOTAL_LIMIT and not self.offset and self.cursor is None
        return BoundedCount(self.rows, is_minimum=False) if is_whole else None


async def count_list(
    connection: Connection,
    source: sql.Composable,
    parameters: Mapping[str, object],
    shown: Shown,
    *,
    exact: bool,
    most: int | None = None,
    prepare: bool | None = None,
) -> BoundedCount:
    """As ``count_rows``, where a page of the list does not tell already."""
    return shown.total or await count_rows(connection, source, parameters, exact=exact, most=most, prepare=prepare)


async def count_rows(
    connection: Connection,
    source: sql.Composable,
    parameters: Mapping[str, object],
    *,
    exact: bool,
    most: int | None = None,
    prepare: bool | None = None,
) -> BoundedCount:
    """Count the rows of ``source`` (``table WHERE conditions``), without the limit where ``exact`` is asked for.
    ``prepare`` False: planned for these very values, where a plan for any values would miss a partial index."""
    most = EXACT_TOTAL_LIMIT if most is None else most
    query = sql.SQL("SELECT count(*) AS total FROM (SELECT FROM {} LIMIT %(count_limit)s) matching").format(source)
    limit = None if exact else most + 1  # LIMIT NULL is none
    values = {**parameters, "count_limit": limit}
    row = await (await connection.execute(query, values, prepare=prepare)).fetchone()
    total = 0 if row is None else int(row["total"])
    if exact or total <= most:
        return BoundedCount(total, is_minimum=False)
    return BoundedCount(most, is_minimum=True)
