"""One moment of the database: its heads and its schema, and the snapshot that pg_dump reads too.

The transaction only reads. It takes no lock that a decision waits for; a change of the schema, and the removal of an
empty partition, wait for its end.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg import sql
from psycopg.rows import dict_row

from headgate.backup.manifest import Head
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kernel.secrets import Secret

_HEADS: Final = """
    SELECT o.org_id, coalesce(head.seq, 0) AS seq, encode(head.hash, 'hex') AS hash,
           (SELECT count(*) FROM journal j WHERE j.org_id = o.org_id) AS waiting, point.note
    FROM organizations o
    LEFT JOIN LATERAL (SELECT c.seq, c.hash FROM audit_chain c WHERE c.org_id = o.org_id
                       ORDER BY c.seq DESC LIMIT 1) head ON true
    LEFT JOIN LATERAL (SELECT p.note FROM audit_checkpoints p WHERE p.org_id = o.org_id
                       ORDER BY p.size DESC LIMIT 1) point ON true
    ORDER BY o.org_id
"""
_OWNER: Final = (
    "SELECT pg_get_userbyid(c.relowner) AS name FROM pg_class c WHERE c.oid = 'public.organizations'::regclass"
)
_BYPASSES: Final = "SELECT rolname, rolsuper OR rolbypassrls AS sees_all FROM pg_roles WHERE rolname = current_user"
_PARTITIONED: Final = "SELECT relname AS name FROM pg_class WHERE relkind='p' AND relnamespace='public'::regnamespace"
_SCHEMA_TABLE: Final = "SELECT to_regclass('public.schema_migrations') IS NOT NULL AS there"
# As the function vault_keys, which a role for backups may not call.
_MASTER_KEYS: Final = """
    SELECT key_id FROM vault_secrets UNION SELECT key_id FROM body_keys
    UNION SELECT key_id FROM traffic_exchanges WHERE key_id IS NOT NULL ORDER BY key_id
"""


class Snapshot(Struct, frozen=True):
    """``name``: what pg_dump is told. ``size_bytes``: of the database on the disk, for the progress."""

    name: str
    server_version: int
    owner: str
    schema: dict[str, str]
    heads: tuple[Head, ...]
    master_keys: tuple[str, ...]
    size_bytes: int


type _Connection = psycopg.Connection[dict[str, Any]]


@contextmanager
def taken_snapshot(database: Secret) -> Iterator[Snapshot]:
    """Raises UnavailableError, ValidationError: not Headgate's database, or a role that does not see all rows."""
    try:
        connection = psycopg.connect(database.reveal(), row_factory=dict_row, connect_timeout=10, autocommit=True)
    except psycopg.Error as error:
        raise UnavailableError(f"the database cannot be reached: {str(error).strip()}") from error
    with connection:
        _require_whole_view(connection)
        partitioned = [str(row["name"]) for row in connection.execute(_PARTITIONED)]
        connection.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield _read(connection, partitioned)
        finally:
            if not connection.closed:
                connection.execute("ROLLBACK")


def _require_whole_view(connection: _Connection) -> None:
    role = _row(connection, _BYPASSES)
    if not role["sees_all"]:
        name = role["rolname"]
        raise ValidationError(
            f"the role {name} does not see the rows of all organizations (row-level security), so a dump by it would"
            " be refused. Set HEADGATE_BACKUP_DATABASE_URL to a role for backups:"
            " CREATE ROLE headgate_backup LOGIN BYPASSRLS PASSWORD '…'; GRANT pg_read_all_data TO headgate_backup"
        )
    if not _row(connection, _SCHEMA_TABLE)["there"]:
        raise ValidationError("this database is not Headgate's: it has no table schema_migrations")


def _read(connection: _Connection, partitioned: Sequence[str]) -> Snapshot:
    tables = sql.SQL(", ").join(sql.Identifier("public", one) for one in partitioned)
    try:
        # Before the first query, which takes the snapshot: pg_dump locks its partitions only later, and one that
        # retention drops in between would end the backup.
        connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(tables))
        connection.execute("SET LOCAL row_security = off")
        schema = {
            str(row["name"]): str(row["checksum"])
            for row in connection.execute("SELECT name, checksum FROM schema_migrations")
        }
        heads = tuple(
            Head(row["org_id"], int(row["seq"]), row["hash"], int(row["waiting"]), row["note"])
            for row in connection.execute(_HEADS.encode())
        )
        keys = tuple(str(row["key_id"]) for row in connection.execute(_MASTER_KEYS.encode()))
        return Snapshot(
            name=str(_row(connection, "SELECT pg_export_snapshot() AS name")["name"]),
            server_version=connection.info.server_version,
            owner=str(_row(connection, _OWNER)["name"]),
            schema=schema,
            heads=heads,
            master_keys=keys,
            size_bytes=int(_row(connection, "SELECT pg_database_size(current_database()) AS size")["size"]),
        )
    except psycopg.Error as error:
        raise UnavailableError(f"the database cannot be read: {str(error).strip()}") from error


def _row(connection: _Connection, question: str) -> dict[str, Any]:
    row = connection.execute(question.encode()).fetchone()
    if row is None:
        raise UnavailableError("the database gave no answer")
    return row
