"""Moves the embedded database to the major version of PostgreSQL that this version of Headgate brings.

The files of one major version cannot be read by another. So the old server is started once more, with its own programs,
and a dump of it flows into a new cluster. The old one is kept beside until somebody deletes it
(docs/decisions/0092-upgrade-by-dump.md).
"""

import asyncio
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg
from msgspec import Struct
from psycopg import sql

from headgate.backup.archive import Progress
from headgate.backup.programs import dumped, find_program, load, major_of
from headgate.backup.source import running_server
from headgate.backup.staged_folder import StagedFolder
from headgate.backup.target import make_roles
from headgate.configuration.data_directory import DataDirectory
from headgate.configuration.settings import Settings
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres
from headgate.runtime.account import server_account
from headgate.runtime.database_roles import OWNER, ensure_database, prepare_database
from headgate.runtime.folders import disk_error, instance_lock, socket_folder
from headgate.runtime.postgres import MAJOR_VERSION, SUPERUSER, PostgresServer
from headgate.runtime.secrets_file import load_secrets
from headgate.runtime.servers import brings_database

_SYSTEM_FOLDERS = Path("/usr/lib/postgresql")


class Upgrade(Struct, frozen=True):
    """``source``: the major version before. ``kept``: the folder with its cluster. ``rows``: of all tables."""

    source: str
    target: int
    kept: Path | None
    rows: int


async def upgrade_database(
    settings: Settings, old_programs: Path | None, clock: Clock, progress: Progress
) -> Upgrade | None:
    """None: there is nothing to do. Raises HeadgateError: the database is as it was."""
    if not brings_database(settings):
        raise ValidationError(
            "this instance uses a PostgreSQL of your own: upgrade it with its own means (pg_upgrade, or those of your"
            " provider)"
        )
    data = settings.data
    if not data.root.is_dir():
        raise UnavailableError(f"there is no data directory {data.root}: name it with --data-dir")
    with instance_lock(data):
        staged = StagedFolder(data, data.upgrading)
        if (earlier := staged.finish_earlier()) is not None:
            return Upgrade(earlier, MAJOR_VERSION, None, 0)
        if not data.postgres.is_dir():
            raise UnavailableError(f"there is no database in {data.root}: name the data directory with --data-dir")
        found = postgres.version_of(data.postgres)
        if found == str(MAJOR_VERSION):
            return None
        if not found.isdigit() or int(found) > MAJOR_VERSION:
            postgres.check_version(data.postgres)
        programs = _old_programs(int(found), old_programs)
        _require_room(data)
        rows = await _move(data, staged, programs, progress)
        kept = staged.commit(found, f"upgrade-{clock():%Y%m%dT%H%M%SZ}", ["postgres"])
        return Upgrade(found, MAJOR_VERSION, kept, rows)


def _old_programs(major: int, given: Path | None) -> Path:
    """The folder of PostgreSQL's programs of this version. Raises UnavailableError, which says how to get them."""
    folders: Iterable[Path] = (
        [given] if given is not None else [*postgres.brought_programs(), _SYSTEM_FOLDERS / str(major) / "bin"]
    )
    for folder in folders:
        if (folder / "postgres").is_file() and major_of(folder / "postgres") == major:
            return folder
    where = "" if given is None else f" in {given}"
    raise UnavailableError(
        f"the programs of PostgreSQL {major} were not found{where}, and only they can read this database. Install"
        f" postgresql-{major} and run the command again, or name their folder with --old-binaries. Or, with the"
        " version of Headgate that made the data: headgate backup create; then, with this one, headgate restore"
        " into a new --data-dir"
    )


def _require_room(data: DataDirectory) -> None:
    """Raises UnavailableError. The new cluster is smaller than the old one: it has no dead rows."""
    needed = sum(one.stat().st_size for one in data.postgres.rglob("*") if one.is_file())
    free = shutil.disk_usage(data.root).free
    if free < needed:
        raise UnavailableError(
            f"{free // 1024**2} MiB are free for {data.root}, and the upgrade needs {needed // 1024**2} MiB beside the"
            " database: make room, then run the command again"
        )


async def _move(data: DataDirectory, staged: StagedFolder, programs: Path, progress: Progress) -> int:
    secrets = load_secrets(data)
    password = secrets.passwords[SUPERUSER]
    account = server_account([postgres.binaries() / "postgres", programs / "postgres", data.postgres])
    log = data.logs / "postgres.log"
    old = PostgresServer(data.postgres, socket_folder(data, account), log, account)
    try:
        staged.data.root.mkdir(mode=0o711)
    except OSError as error:
        raise disk_error(error, staged.data.root) from error
    new = PostgresServer(staged.data.postgres, socket_folder(staged.data, account), log, account)
    await postgres.initialize(new, password)
    async with running_server(old, password, programs), running_server(new, password):
        await ensure_database(new, secrets)
        source, target = old.url(SUPERUSER, password), new.url(SUPERUSER, password)
        rows = await asyncio.to_thread(_copy, source, target, progress)
        await prepare_database(new, secrets)
    return rows


def _copy(source: Secret, target: Secret, progress: Progress) -> int:
    def counted() -> Iterator[bytes]:
        for piece in dumped(find_program("pg_dump", MAJOR_VERSION), source, None):
            progress("database", len(piece))
            yield piece

    try:
        with psycopg.connect(source.reveal()) as before, psycopg.connect(target.reveal(), autocommit=True) as after:
            make_roles(after, OWNER)
            load(find_program("pg_restore", MAJOR_VERSION), target, counted())
            after.execute("ANALYZE")
            expected, found = _rows(before), _rows(after)
    except psycopg.Error as error:
        raise UnavailableError(f"the database could not be moved: {str(error).strip()}") from error
    if expected != found:
        differing = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        raise ConflictError(
            f"the new database does not hold what the old one does: the tables {', '.join(differing[:5])} differ"
        )
    return sum(found.values())


def _rows(connection: psycopg.Connection[tuple[object, ...]]) -> dict[str, int]:
    """The number of rows of each table."""
    names = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY 1, 2"
    ).fetchall()
    counts = {}
    for schema, table in names:
        query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(str(schema), str(table)))
        row = connection.execute(query).fetchone()
        counts[f"{schema}.{table}"] = 0 if row is None else int(str(row[0]))
    return counts
