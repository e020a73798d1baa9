"""``headgate audit import``: somebody else's proof packs in an instance of their own, to be looked at."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from headgate.cli.audit_export import open_export, read_all
from headgate.db.database import Database
from headgate.db.migrate import migrate
from headgate.evidence.inspection import Inspection, read_inspection
from headgate.evidence.inspection_store import import_record
from headgate.evidence.pack_verifier import InvalidError, Key, RefusedError
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

_STATEMENT_SECONDS = 300.0


def import_export(path: Path, keys: Sequence[Key], owner_dsn: Secret) -> Inspection:
    """Everything is verified before anything is written. Raises ValidationError, ConflictError, UnavailableError."""
    try:
        record = read_inspection(_packs(path), keys)
    except (InvalidError, RefusedError) as error:
        raise ValidationError(f"nothing was imported: {error}") from error
    asyncio.run(_write(owner_dsn, record))
    return record


def _packs(path: Path) -> Iterator[tuple[str, bytes]]:
    for name, content, reason in read_all(open_export(path)):
        if reason is not None or content is None:
            raise ValidationError(f"nothing was imported: {name}: {reason}")
        yield name, content


async def _write(owner_dsn: Secret, record: Inspection) -> None:
    await migrate(owner_dsn.reveal())
    database = Database(owner_dsn, max_connections=1, timeout_seconds=_STATEMENT_SECONDS)
    await database.open()
    try:
        await import_record(database, record, system_clock())
    finally:
        await database.close()
