"""Makes a backup of a live instance: one moment of its database, and its keys."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headgate.backup.archive import Progress, opened_archive, written_archive
from headgate.backup.encryption import PassphraseKey, key_of, new_key
from headgate.backup.key_files import KeyFile, packed, read_key_files, read_signed_memory
from headgate.backup.manifest import DATABASE, KEYS, Manifest
from headgate.backup.programs import dumped, find_program
from headgate.backup.snapshot import Snapshot, taken_snapshot
from headgate.backup.source import opened_database
from headgate.configuration.settings import Settings
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, UnavailableError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.program import PROGRAM_VERSION
from headgate.kernel.secrets import Secret
from headgate.vault.master_keys import parse_master_keys


@dataclass(frozen=True, slots=True)
class Order:
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
    signs = any(one.name == "evidence/signing-keys" for one in files)
    if not signs and any(head.checkpoint is not None for head in snapshot.heads):
        raise UnavailableError(
            "checkpoints were signed, and the key is not here: run the backup where the workers' key is"
            " (HEADGATE_SIGNING_KEYS_FILE), or leave the keys out with --without-keys"
        )


def require_master_keys(needed: Iterable[str], files: Iterable[KeyFile]) -> None:
    """Raises UnavailableError."""
    held: set[str] = set()
    for file in files:
        if file.name == "vault/master-keys.json":
            held = set(parse_master_keys(file.content.decode()).keys)
    missing = sorted(set(needed) - held)
    if missing:
        raise UnavailableError(
            f"stored secrets are encrypted under the master keys {', '.join(missing)}, which are not here: run the"
            " command where they are (HEADGATE_MASTER_KEYS_FILE, or the data directory of the instance)"
        )


def _require_unchanged(before: Iterable[KeyFile], after: Iterable[KeyFile]) -> None:
    """The keys must fit the database as of the snapshot. Raises ConflictError: they were rotated meanwhile."""
    kept = {one.name: one.content for one in before}
    changed = sorted(one.name for one in after if kept.get(one.name) != one.content)
    if changed:
        raise ConflictError(f"{', '.join(changed)} changed while the backup was made: run it again")


def verify_backup(path: Path, passphrase: Secret | None, progress: Progress) -> Manifest:
    """Compares every part with its digest; with the passphrase, decrypts it too. Needs no instance. Raises
    ValidationError."""
    with opened_archive(path) as archive:
        manifest = archive.manifest
        key = None
        if passphrase is not None:
            key = open_key(manifest, passphrase, path)
        archive.verify(progress)
        if key is not None:
            for part in manifest.parts:
                for _ in archive.read(part.name, key):
                    pass
    return manifest


def open_key(manifest: Manifest, passphrase: Secret, path: Path) -> PassphraseKey:
    """The key of an encrypted backup. Raises ValidationError."""
    if manifest.encryption is None:
        raise ValidationError(f"{path} is not encrypted: leave the passphrase out")
    try:
        key = key_of(passphrase, manifest.encryption)
        key.require_sealed(manifest)
    except ValueError as error:
        raise ValidationError(f"{path}: its manifest is malformed ({error})") from error
    except ValidationError as error:
        raise ValidationError(f"{path}: {error.message}") from error
    return key
