"""How large the database is, by table; partitions count as their table. Estimates of the server's own statistics."""

from msgspec import Struct

from headgate.db.database import Connection

_TABLES = """
    SELECT coalesce(parent.relname, c.relname) AS name, sum(pg_total_relation_size(c.oid))::bigint AS bytes,
           sum(greatest(c.reltuples, 0))::bigint AS rows
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    LEFT JOIN pg_class parent ON parent.oid = i.inhparent
    WHERE c.relkind = 'r' GROUP BY 1 ORDER BY 2 DESC, 1
"""


class TableFigures(Struct, frozen=True):
    name: str
    bytes: int
    estimated_rows: int


class ServerFigures(Struct, frozen=True):
    version: str
    connections: int
    most_connections: int
    database_bytes: int


async def table_figures(connection: Connection) -> list[TableFigures]:
    """The largest first."""
    cursor = await connection.execute(_TABLES)
    return [TableFigures(row["name"], row["bytes"], row["rows"]) async for row in cursor]


async def server_figures(connection: Connection) -> ServerFigures:
    cursor = await connection.execute(
        "SELECT current_setting('server_version') AS version, current_setting('max_connections')::int AS most,"
        " (SELECT numbackends FROM pg_stat_database WHERE datname = current_database()) AS connections,"
        " pg_database_size(current_database()) AS bytes"
    )
    row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM answers one row
    return ServerFigures(row["version"], row["connections"], row["most"], row["bytes"])
