"""One row, by its columns: written so that no list of columns, one of places and one of values need be kept in step."""

from collections.abc import Mapping, Sequence

from psycopg import sql

from headgate.db.database import Connection


async def insert_row(connection: Connection, table: str, row: Mapping[str, object]) -> None:
    query = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(map(sql.Placeholder, row)),
    )
    await connection.execute(query, row)


async def update_row(connection: Connection, table: str, row: Mapping[str, object], *, key: Sequence[str]) -> None:
    """The row that has these values in the columns of ``key`` gets all the others."""

    def each(columns: Sequence[str], between: str) -> sql.Composable:
        return sql.SQL(between).join(
            sql.SQL("{} = {}").format(sql.Identifier(one), sql.Placeholder(one)) for one in columns
        )

    changed = [column for column in row if column not in key]
    query = sql.SQL("UPDATE {} SET {} WHERE {}").format(sql.Identifier(table), each(changed, ", "), each(key, " AND "))
    await connection.execute(query, row)
