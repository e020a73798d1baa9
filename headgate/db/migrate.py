"""Numbered SQL migrations: applied in order, once, each in a transaction, with its checksum kept.

Safe with any number of starters at the same time: the lock is *polled*, because a blocking advisory lock
deadlocks with CREATE INDEX CONCURRENTLY (measured).
"""

import asyncio
import hashlib
import re
from dataclasses import dataclass
from importlib import resources

import psycopg

from headgate.kernel.errors import UnavailableError

_LOCK_KEY = 0x68656164_67617465  # "headgate"
_OLDEST_SERVER = 18_00_00  # uuidv7(), cached plans of SQL functions
_LOCK_POLL_SECONDS = 0.05
_INCLUDE = re.compile(r"^-- include ([\w.]+)/([\w.]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of ``headgate/db/migrations``: ``0001_what_it_does.sql``. A line ``-- include package/file`` stands for
    that file of an installed package; the checksum is of what stands here.
    """

    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def statements(self) -> str:
        return _INCLUDE.sub(lambda found: (resources.files(found[1]) / found[2]).read_text("utf-8"), self.sql)


class MigrationError(UnavailableError):
    """The database cannot be brought to this version; the message says why and what to do."""


def all_migrations() -> list[Migration]:
    """Every migration of this version, in order."""
    folder = resources.files("headgate.db") / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [Migration(file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files]


async def migrate(owner_dsn: str, migrations: list[Migration] | None = None) -> list[str]:
    """Apply what is missing; returns the names applied. Raises MigrationError."""
    wanted = all_migrations() if migrations is None else migrations
    try:
        async with await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as connection:
            return await _apply(connection, wanted)
    except psycopg.Error as error:
        raise MigrationError(f"the database could not be migrated: {str(error).strip()}") from error


async def _apply(connection: psycopg.AsyncConnection[tuple[object, ...]], wanted: list[Migration]) -> list[str]:
    if connection.info.server_version < _OLDEST_SERVER:
        raise MigrationError(
            f"PostgreSQL 18 or later is needed; this server is {connection.info.parameter_status('server_version')}"
        )
    while not await _try_lock(connection):  # noqa: ASYNC110 - the lock is the server's: there is no event to wait for
        await asyncio.sleep(_LOCK_POLL_SECONDS)
    try:
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations ("
            " name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        rows = await (await connection.execute("SELECT name, checksum FROM schema_migrations")).fetchall()
        return await _apply_missing(connection, wanted, {str(name): str(checksum) for name, checksum in rows})
    finally:
        await connection.execute("SELECT pg_advisory_unlock(%s)", [_LOCK_KEY])


async def _try_lock(connection: psycopg.AsyncConnection[tuple[object, ...]]) -> bool:
    row = await (await connection.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK_KEY])).fetchone()
    return row is not None and row[0] is True


def _refuse_other_versions(wanted: list[Migration], applied: dict[str, str]) -> None:
    """What was changed is told before what is not known here: only where all of the rest is the same is it later."""
    for migration in wanted:
        if applied.get(migration.name, migration.checksum) != migration.checksum:
            raise MigrationError(
                f"migration {migration.name} was changed after it had been applied to this database"
                f" (applied {applied[migration.name][:12]}, now {migration.checksum[:12]}): use the version"
                " of Headgate that made this data, or another database or --data-dir"
            )
    if unknown := sorted(set(applied) - {migration.name for migration in wanted}):
        raise MigrationError(
            f"the database is of a later version of Headgate (it has {', '.join(unknown)}): upgrade this installation"
        )


async def _apply_missing(
    connection: psycopg.AsyncConnection[tuple[object, ...]], wanted: list[Migration], applied: dict[str, str]
) -> list[str]:
    _refuse_other_versions(wanted, applied)
    done: list[str] = []
    for migration in wanted:
        if migration.name in applied:
            continue
        async with connection.transaction():
            await connection.execute(migration.statements.encode())
            await connection.execute(
                "INSERT INTO schema_migrations (name, checksum) VALUES (%s, %s)", [migration.name, migration.checksum]
            )
        done.append(migration.name)
    return done
