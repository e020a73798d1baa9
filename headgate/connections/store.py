"""All SQL of connections. Every function runs inside a transaction of the organization."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.connections.model import Connection, ConnectionKind, ConnectionStatus, Host, Location, Place
from headgate.db import database
from headgate.db.bounded_count import count_rows
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import NotFoundError

_COLUMNS: Final = (
    "org_id, connection_id, name, platform, kind, status, status_reason, hosts, place, agents, tools,"
    " needs_placeholder, account, scopes, settings, revision, secret_version, expires_at, refresh_at, check_at,"
    " checked_at, failures, owner_id, account_since, created_at, updated_at"
)


async def insert_connection(db: database.Connection, one: Connection) -> None:
    values = _row(one)
    names = ", ".join(values)
    await db.execute(
        f"INSERT INTO connections ({names}) VALUES ({', '.join(['%s'] * len(values))})",  # noqa: S608 - names of this file
        list(values.values()),
    )


async def save_connection(db: database.Connection, one: Connection) -> None:
    """Everything but who refreshes it now."""
    values = {name: value for name, value in _row(one).items() if name not in ("org_id", "connection_id")}
    assignments = ", ".join(f"{name} = %s" for name in values)
    await db.execute(
        f"UPDATE connections SET {assignments} WHERE org_id = %s AND connection_id = %s",  # noqa: S608 - as above
        [*values.values(), one.org_id, one.connection_id],
    )


async def get_connection(db: database.Connection, org_id: str, connection_id: str, *, lock: bool = False) -> Connection:
    """Raises NotFoundError."""
    cursor = await db.execute(
        f"SELECT {_COLUMNS} FROM connections"  # noqa: S608 - a constant of this file
        " WHERE org_id = %s AND connection_id = %s AND deleted_at IS NULL" + (" FOR UPDATE" if lock else ""),
        [org_id, connection_id],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"there is no connection {connection_id}")
    return _connection(row)


async def name_is_taken(db: database.Connection, org_id: str, name: str) -> bool:
    cursor = await db.execute(
        "SELECT 1 FROM connections WHERE org_id = %s AND name = %s AND deleted_at IS NULL", [org_id, name]
    )
    return await cursor.fetchone() is not None


async def load_connections(db: database.Connection, org_id: str) -> Sequence[Connection]:
    """All that decisions look at, in the order of their making."""
    cursor = await db.execute(
        f"SELECT {_COLUMNS} FROM connections"  # noqa: S608 - a constant of this file
        " WHERE org_id = %s AND deleted_at IS NULL ORDER BY connection_id",
        [org_id],
    )
    return [_connection(row) for row in await cursor.fetchall()]


class ConnectionList(Struct, frozen=True):
    connections: Sequence[Connection]
    total: int
    total_is_minimum: bool


async def list_connections(
    db: database.Connection,
    org_id: str,
    *,
    platform: str | None,
    status: ConnectionStatus | None,
    name: str | None = None,
    limit: int,
    offset: int,
    exact_total: bool,
) -> ConnectionList:
    """Newest first."""
    conditions: list[sql.Composable] = [sql.SQL("org_id = %(org)s AND deleted_at IS NULL")]
    values: dict[str, object] = {"org": org_id, "limit": limit, "offset": offset}
    for column, value in (("platform", platform), ("status", status), ("name", name)):
        if value is not None:
            conditions.append(sql.SQL("{} = {}").format(sql.Identifier(column), sql.Placeholder(column)))
            values[column] = value
    source = sql.SQL("connections WHERE ") + sql.SQL(" AND ").join(conditions)
    query = sql.SQL("SELECT {} FROM {} ORDER BY connection_id DESC LIMIT %(limit)s OFFSET %(offset)s")
    # 10,000 rows are counted by an index alone, where reading the table from its start looks cheaper.
    await db.execute("SELECT set_config('enable_seqscan', 'off', true)")
    # Planned for these very values: a plan for any values misses the partial indexes.
    cursor = await db.execute(query.format(sql.SQL(_COLUMNS), source), values, prepare=False)
    found = [_connection(row) for row in await cursor.fetchall()]
    counted = await count_rows(db, source, values, exact=exact_total, prepare=False)
    return ConnectionList(found, counted.total, counted.is_minimum)


async def count_there(db: database.Connection, org_id: str) -> int:
    cursor = await db.execute(
        "SELECT count(*) AS n FROM connections WHERE org_id = %s AND deleted_at IS NULL", [org_id]
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row["n"])


async def delete_connection(db: database.Connection, org_id: str, connection_id: str, at: datetime) -> None:
    """Its uses stay to be read."""
    await db.execute(
        "UPDATE connections SET deleted_at = %s, refresh_at = NULL, check_at = NULL WHERE org_id = %s"
        " AND connection_id = %s",
        [at, org_id, connection_id],
    )


async def take_lease(
    db: database.Connection,
    org_id: str,
    connection_id: str,
    lease: str,
    *,
    seen_version: int,
    at: datetime,
    held: timedelta,
) -> bool:
    """Whether this caller, alone among all processes, may get a credential in place of version ``seen_version``."""
    cursor = await db.execute(
        "UPDATE connections SET lease = %s, lease_until = %s WHERE org_id = %s AND connection_id = %s"
        " AND deleted_at IS NULL AND secret_version = %s AND (lease_until IS NULL OR lease_until <= %s)",
        [lease, at + held, org_id, connection_id, seen_version, at],
    )
    return cursor.rowcount == 1


async def end_lease(db: database.Connection, org_id: str, connection_id: str, lease: str) -> bool:
    """False: somebody else has it by now."""
    cursor = await db.execute(
        "UPDATE connections SET lease = NULL, lease_until = NULL"
        " WHERE org_id = %s AND connection_id = %s AND lease = %s",
        [org_id, connection_id, lease],
    )
    return cursor.rowcount == 1


async def connections_due(db: database.Connection, at: datetime, limit: int) -> Sequence[tuple[str, str]]:
    """Over all organizations: whose credential is to be replaced or looked at."""
    cursor = await db.execute("SELECT org_id, connection_id FROM connections_due(%s, %s)", [at, limit])
    return [(row["org_id"], row["connection_id"]) for row in await cursor.fetchall()]


def _row(one: Connection) -> dict[str, object]:
    return {
        "org_id": one.org_id,
        "connection_id": one.connection_id,
        "name": one.name,
        "platform": one.platform,
        "kind": one.kind.value,
        "status": one.status.value,
        "status_reason": one.status_reason,
        "hosts": [str(host) for host in one.hosts],
        "place": canonical_bytes(one.place.document()).decode(),
        "agents": sorted(one.agents),
        "tools": sorted(one.tools),
        "needs_placeholder": one.needs_placeholder,
        "account": one.account,
        "scopes": list(one.scopes),
        "settings": canonical_bytes(one.settings).decode(),
        "revision": one.revision,
        "secret_version": one.secret_version,
        "expires_at": one.expires_at,
        "refresh_at": one.refresh_at,
        "check_at": one.check_at,
        "checked_at": one.checked_at,
        "failures": one.failures,
        "owner_id": one.owner_id,
        "account_since": one.account_since,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
    }


def _connection(row: DictRow) -> Connection:
    place = _object(row["place"])
    return Connection(
        **{
            **row,
            "kind": ConnectionKind(row["kind"]),
            "status": ConnectionStatus(row["status"]),
            "hosts": tuple(_host(one) for one in row["hosts"]),
            "place": Place(Location(str(place["in"])), str(place["name"]), str(place["prefix"])),
            "agents": frozenset(row["agents"]),
            "tools": frozenset(row["tools"]),
            "scopes": tuple(row["scopes"]),
            "settings": _object(row["settings"]),
        }
    )


def _host(text: str) -> Host:
    host, _, port = text.rpartition(":")
    return Host(host, int(port))


def _object(text: str) -> JsonObject:
    value = parse_strict(text.encode())
    if not isinstance(value, dict):
        raise TypeError("a document of a connection is an object")
    return value
