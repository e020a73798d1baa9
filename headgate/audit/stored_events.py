"""Events as the database holds them, whatever their values: the chain's row beside the month's row."""

from typing import Final

from psycopg import sql
from psycopg.abc import Params
from psycopg.rows import TupleRow, tuple_row

from headgate.audit.any_time import AnyTimeLoader
from headgate.audit.chain import StoredEvent
from headgate.db.database import Connection

type Query = bytes | sql.SQL | sql.Composed

COLUMNS: Final = (
    "c.seq, c.header, c.hash, c.sealed_at, e.event_id, e.event_type, e.action_id, e.agent_id, e.created_at,"
    " e.sealed_at, e.salt, e.payload"
)
"""Of ``audit_chain c`` and ``audit_events e``, as ``StoredEvent`` has them."""
SELECT: Final = sql.SQL(
    f"SELECT {COLUMNS} FROM audit_events e JOIN audit_chain c ON c.org_id = e.org_id AND c.seq = e.seq"  # noqa: S608
)


async def read_events(connection: Connection, query: Query, values: Params) -> list[StoredEvent]:
    """What a query for ``COLUMNS`` finds."""
    return [StoredEvent(*row) for row in await read_rows(connection, query, values)]


async def read_rows(connection: Connection, query: Query, values: Params) -> list[TupleRow]:
    """The same, of a query that asks for something more behind them."""
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        cursor.adapters.register_loader("timestamptz", AnyTimeLoader)
        await cursor.execute(query, values)
        return await cursor.fetchall()
