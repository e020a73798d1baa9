"""Makes a backup of a live instance: one moment of its database, and its keys."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from headgate.backup.archive import Progress, written_archive
from headgate.backup.encryption import PassphraseKey, new_key
from headgate.backup.key_files import (
    KeyFile,
    holds_signing_keys,
    packed,
    read_key_files,
    read_signed_memory,
    require_master_keys,
)
from headgate.backup.manifest import DATABASE, KEYS, Manifest
from headgate.backup.programs import dumped, find_program
from headgate.backup.snapshot import Snapshot, taken_snapshot
from headgate.backup.source import opened_database
from headgate.configuration.settings import Settings
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.program import PROGRAM_VERSION
from headgate.kernel.secrets import Secret


class Order(Struct, frozen=True):
    """What is to be made. ``passphrase`` None: nothing is encrypted. ``created_by``: who asked for it."""

    output: Path
    created_by: str
    passphrase: Secret | None
    with_keys: bool = True


async def create_backup(settings: Settings, order: Order, clock: Clock, progress: Progress) -> Manifest:
    """The manifest of the backup that now is at ``order.output``. Raises HeadgateError."""
    key = None if order.passphrase is None else new_key(order.passphrase)
    async with opened_database(settings) as database:
        return await asyncio.to_thread(_create, settings, order, database, key, clock, progress)


def _create(
    settings: Settings, order: Order, database: Secret, key: PassphraseKey | None, clock: Clock, progress: Progress
) -> Manifest:
    files = [*read_signed_memory(settings.data), *read_key_files(settings)] if order.with_keys else []
    created_at = clock()
    with taken_snapshot(database) as snapshot:
        program = find_program("pg_dump", snapshot.server_version // 10_000)
        if order.with_keys:
            _require_keys(snapshot, files)
        with written_archive(order.output, key, progress) as archive:
            with archive.part(DATABASE) as part:
                for piece in dumped(program, database, snapshot.name):
                    part.write(piece)
            if order.with_keys:
                _require_unchanged(files, read_key_files(settings))
                with archive.part(KEYS) as part:
                    part.write(packed(files))
            manifest = Manifest(
                backup_id=new_id(IdPrefix.BACKUP),
                created_at=created_at,
                created_by=order.created_by,
                program_version=PROGRAM_VERSION,
                server_version=snapshot.server_version,
                owner=snapshot.owner,
                schema=snapshot.schema,
                heads=snapshot.heads,
                master_keys=snapshot.master_keys,
                parts=tuple(archive.parts),
                encryption=None if key is None else key.encryption,
            )
            archive.close_with(manifest)
    return manifest


def _require_keys(snapshot: Snapshot, files: Iterable[KeyFile]) -> None:
    """Raises UnavailableError: a backup whose secrets could never be opened is no backup."""
    require_master_keys(snapshot.master_keys, files)
    if not holds_signing_keys(files) and any(head.checkpoint is not None for head in snapshot.heads):
        raise UnavailableError(
            "checkpoints were signed, and the key is not here: run the backup where the workers' key is"
            " (HEADGATE_SIGNING_KEYS_FILE), or leave the keys out with --without-keys"
        )


def _require_unchanged(before: Iterable[KeyFile], after: Iterable[KeyFile]) -> None:
    """The keys must fit the database as of the snapshot. Raises ConflictError: they were rotated meanwhile."""
    kept = {one.name: one.content for one in before}
    changed = sorted(one.name for one in after if kept.get(one.name) != one.content)
    if changed:
        raise ConflictError(f"{', '.join(changed)} changed while the backup was made: run it again")
