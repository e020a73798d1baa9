"""Brings a database to the schema of this version.

``schema/*.sql`` declares the tables, ``schema/functions/<slice>/*.sql`` the functions, each in its final form. An
empty database gets both, and is marked as having all migrations. A database that exists gets the numbered files of
``migrations/`` that it lacks: in order, once, each in a transaction, with its checksum kept. Functions are applied
again when one of them has changed (docs/decisions/0056-the-schema-is-declared.md).

Any number of processes may start at the same time. They *poll* the lock: a blocking advisory lock deadlocks with CREATE
INDEX CONCURRENTLY (measured).
"""

import asyncio
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable

import psycopg
from msgspec import Struct

from headgate.kernel.errors import UnavailableError

_LOCK_KEY = 0x68656164_67617465  # "headgate"
_OLDEST_SERVER = 18_00_00  # uuidv7(), cached plans of SQL functions
_LOCK_POLL_SECONDS = 0.05
_INCLUDE = re.compile(r"^-- include ([\w.]+)/([\w./]+)$", re.MULTILINE)
_COMMENT = re.compile(r"--(?! include ).*")

# Names beside those of migrations in schema_migrations.
_TABLES, _FUNCTIONS = "schema", "functions"

type _Connection = psycopg.AsyncConnection[tuple[object, ...]]


class Script(Struct, frozen=True):
    """A file of SQL. A line ``-- include package/file`` stands for that file of an installed package. The checksum
    covers the line, not the file.
    """

    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def statements(self) -> str:
        return _INCLUDE.sub(lambda found: (resources.files(found[1]) / found[2]).read_text("utf-8"), self.sql)


@dataclass(frozen=True)
class Schema:
    """The schema of a version: tables and functions in their final form, and the migrations that lead to it."""

    tables: tuple[Script, ...]
    functions: tuple[Script, ...]
    migrations: tuple[Script, ...]

    @cached_property
    def checksums(self) -> dict[str, str]:
        """By name in ``schema_migrations``. Comments and white space of tables do not count: a database that was made
        with others is the same.
        """
        tables = (" ".join(_COMMENT.sub("", script.sql).split()) for script in self.tables)
        return {
            _TABLES: hashlib.sha256("\n".join(tables).encode()).hexdigest(),
            _FUNCTIONS: hashlib.sha256("\n".join(script.sql for script in self.functions).encode()).hexdigest(),
            **{migration.name: migration.checksum for migration in self.migrations},
        }


class MigrationError(UnavailableError):
    """The database cannot be brought to this version; the message says why and what to do."""


def declared_schema() -> Schema:
    """Returns the schema of this version."""
    folder = resources.files("headgate.db")
    functions = folder / "schema" / "functions"
    slices = sorted((one for one in functions.iterdir() if one.is_dir()), key=lambda one: one.name)
    return Schema(
        tuple(_scripts(folder / "schema")),
        tuple(script for one in slices for script in _scripts(one)),
        tuple(_scripts(folder / "migrations")),
    )


def _scripts(folder: Traversable) -> Iterable[Script]:
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".sql"):
            yield Script(file.name.removesuffix(".sql"), file.read_text("utf-8"))


async def migrate(owner_dsn: str, schema: Schema | None = None) -> list[str]:
    """Applies what is missing; returns the names applied. Raises MigrationError."""
    wanted = declared_schema() if schema is None else schema
    return await _migrate(owner_dsn, wanted, is_restoring=False)


async def migrate_restored(owner_dsn: str) -> None:
    """Brings a restored dump to this version, and applies all functions again: a restore by a role that is no superuser
    cannot grant rights to functions of headgate_definer. Raises MigrationError."""
    await _migrate(owner_dsn, declared_schema(), is_restoring=True)


async def _migrate(owner_dsn: str, wanted: Schema, *, is_restoring: bool) -> list[str]:
    try:
        async with await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as connection:
            if is_restoring:
                await connection.execute(
                    "UPDATE schema_migrations SET checksum = 'restored' WHERE name = %s", [_FUNCTIONS]
                )
            else:
                await _refuse_unfinished_restore(connection)
            return await _apply_locked(connection, wanted)
    except psycopg.Error as error:
        raise MigrationError(f"the database could not be migrated: {str(error).strip()}") from error


async def _apply_locked(connection: _Connection, wanted: Schema) -> list[str]:
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
        applied = {str(name): str(checksum) for name, checksum in rows}
        return await (_upgrade(connection, wanted, applied) if applied else _create(connection, wanted))
    finally:
        await connection.execute("SELECT pg_advisory_unlock(%s)", [_LOCK_KEY])


async def _try_lock(connection: _Connection) -> bool:
    row = await (await connection.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK_KEY])).fetchone()
    return row is not None and row[0] is True


async def _create(connection: _Connection, wanted: Schema) -> list[str]:
    async with connection.transaction():
        for script in wanted.tables:
            await _run(connection, script)
        await _replace_functions(connection, wanted)
        await _mark(connection, wanted, *wanted.checksums)
    return [_TABLES, _FUNCTIONS]


async def _refuse_unfinished_restore(connection: _Connection) -> None:
    row = await (await connection.execute("SELECT to_regclass('public.restore_in_progress')::text")).fetchone()
    if row is not None and row[0] is not None:
        raise MigrationError(
            "a restore into this database was interrupted: run headgate restore again with the same backup, or take an"
            " empty database"
        )


async def _upgrade(connection: _Connection, wanted: Schema, applied: dict[str, str]) -> list[str]:
    missing = [migration for migration in wanted.migrations if migration.name not in applied]
    _refuse_other_versions(wanted, applied, missing)
    for migration in missing:
        async with connection.transaction():
            await _run(connection, migration)
            await _mark(connection, wanted, migration.name, _TABLES)
    done = [migration.name for migration in missing]
    if applied.get(_FUNCTIONS) != wanted.checksums[_FUNCTIONS]:
        async with connection.transaction():
            await _replace_functions(connection, wanted)
            await _mark(connection, wanted, _FUNCTIONS)
        done.append(_FUNCTIONS)
    return done


def require_known_schema(applied: Mapping[str, str], schema: Schema | None = None) -> None:
    """Raises MigrationError: a database with these rows of ``schema_migrations`` cannot be brought to this version."""
    wanted = declared_schema() if schema is None else schema
    _refuse_other_versions(wanted, applied, [one for one in wanted.migrations if one.name not in applied])


def _refuse_other_versions(wanted: Schema, applied: Mapping[str, str], missing: list[Script]) -> None:
    """A changed migration is reported before an unknown one: a database is later only if the rest of it is the same."""
    advice = "use the version of Headgate that made this data, or another database or --data-dir"
    for migration in wanted.migrations:
        if applied.get(migration.name, migration.checksum) != migration.checksum:
            raise MigrationError(
                f"migration {migration.name} was changed after it had been applied to this database"
                f" (applied {applied[migration.name][:12]}, now {migration.checksum[:12]}): {advice}"
            )
    unknown = sorted(set(applied) - set(wanted.checksums))
    if unknown and _TABLES in applied:
        raise MigrationError(
            f"the database is of a later version of Headgate (it has {', '.join(unknown)}): upgrade this installation"
        )
    if _TABLES not in applied or (not missing and applied[_TABLES] != wanted.checksums[_TABLES]):
        raise MigrationError(
            f"the tables of this database are not those of this version, and no migration changes them: {advice}"
        )


async def _replace_functions(connection: _Connection, wanted: Schema) -> None:
    """Runs each file as headgate_definer, who then owns the function. Files for the tables' owner reset the role."""
    for script in wanted.functions:
        await _run(connection, script, before="SET LOCAL ROLE headgate_definer;\n")
    await connection.execute("RESET ROLE")


async def _run(connection: _Connection, script: Script, before: str = "") -> None:
    try:
        await connection.execute((before + script.statements).encode())
    except psycopg.Error as error:
        raise MigrationError(f"{script.name}.sql could not be applied: {str(error).strip()}") from error


async def _mark(connection: _Connection, wanted: Schema, *names: str) -> None:
    for name in names:
        await connection.execute(
            "INSERT INTO schema_migrations (name, checksum) VALUES (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum, applied_at = clock_timestamp()",
            [name, wanted.checksums[name]],
        )
