"""Restores a backup into an empty data directory, an empty database, or both.

Nothing that exists is overwritten, and an interrupted restore leaves a state that says so: ``headgate up`` refuses it,
and the same command completes it or starts anew.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct, field

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.backup.archive import Archive, Progress, opened_archive
from headgate.backup.encryption import PassphraseKey
from headgate.backup.key_files import (
    KeyFile,
    holds_signing_keys,
    read_key_files,
    require_master_keys,
    unpacked,
    write_key_files,
)
from headgate.backup.manifest import DATABASE, KEYS, Head, Manifest
from headgate.backup.programs import find_program, load
from headgate.backup.source import running_server
from headgate.backup.staged_folder import StagedFolder
from headgate.backup.target import RestoreTarget, mark_done
from headgate.backup.verify import open_key
from headgate.configuration.settings import Part, Settings
from headgate.db.database import Database
from headgate.db.migrate import migrate_restored, require_known_schema
from headgate.kernel.clock import Clock
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import ConflictError, UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.kms.access import kms_access
from headgate.kms.key_services import KeyServices
from headgate.organizations.change import begin_change
from headgate.runtime import postgres
from headgate.runtime.database_roles import OWNER, ensure_database, prepare_database
from headgate.runtime.folders import disk_error, instance_lock, open_data_directory
from headgate.runtime.postgres import SUPERUSER
from headgate.runtime.secrets_file import load_secrets
from headgate.runtime.servers import brings_database, postgres_of
from headgate.vault.service import Vault, keys_file_of
from headgate.vault.unwrapper import COMMAND_WAIT_SECONDS, Unwrapper
from headgate.workflows.continue_after_restore import Restored, Withdrawn, continue_organization, seal_all

_STATEMENT_SECONDS = 3600.0


class RestoreOrder(Struct, frozen=True):
    """``replace_data``: what is in the data directory is moved aside first. ``database_only``: the keys that are here
    already stay."""

    file: Path
    restored_by: str
    passphrase: Secret | None
    replace_data: bool = False
    database_only: bool = False


class RestoreReport(Struct, frozen=True):
    """``withdrawn`` by organization. ``aside``: the folder with what was in the data directory before. ``completed``:
    an interrupted restore of this backup was completed, and nothing else was done."""

    manifest: Manifest
    withdrawn: Mapping[str, Withdrawn] = field(default_factory=dict)
    aside: Path | None = None
    completed: bool = False


async def restore_backup(settings: Settings, order: RestoreOrder, clock: Clock, progress: Progress) -> RestoreReport:
    """Raises HeadgateError: what is there is as it was."""
    with opened_archive(order.file) as archive:
        key = _key(archive, order)
        require_known_schema(archive.manifest.schema)
        archive.verify(progress)
        files = _keys_of(archive, key, settings, order)
        if order.database_only:
            return await _restore_database_only(settings, archive, key, order, clock, progress)
        data = settings.data
        try:
            data.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, data.root) from error
        staged = StagedFolder(data, data.restoring)
        if not (order.replace_data or data.lock_file.exists() or data.restoring.exists()):
            staged.require_empty()  # before the lock: its file would stay in a folder that is refused
        with instance_lock(data):
            if (earlier := staged.finish_earlier()) is not None:
                if earlier == archive.manifest.backup_id:
                    return RestoreReport(archive.manifest, completed=True)
                raise ConflictError(
                    f"an interrupted restore of another backup ({earlier}) into {data.root} has been completed now: to"
                    " restore this one over it, run the command again with --replace"
                )
            if not order.replace_data:
                staged.require_empty()
            return await _restore_all(settings, staged, archive, key, files, order, clock, progress)


def _key(archive: Archive, order: RestoreOrder) -> PassphraseKey | None:
    if order.passphrase is not None:
        return open_key(archive.manifest, order.passphrase, archive.path)
    if archive.manifest.encryption is not None:
        raise ValidationError(
            f"{archive.path} is encrypted: give its passphrase with --passphrase-file or HEADGATE_BACKUP_PASSPHRASE"
        )
    return None


def _keys_of(archive: Archive, key: PassphraseKey | None, settings: Settings, order: RestoreOrder) -> list[KeyFile]:
    """The keys of the backup. Raises UnavailableError where neither it nor this machine has what its secrets need."""
    manifest = archive.manifest
    if manifest.has_keys and not order.database_only:
        files = unpacked(archive.read(KEYS, key))
        require_master_keys(manifest.master_keys, files)
        return files
    here = read_key_files(settings)
    try:
        require_master_keys(manifest.master_keys, here)
    except UnavailableError as error:
        raise UnavailableError(f"{archive.path} was made without keys, and {error.message}") from error
    if not holds_signing_keys(here) and any(head.checkpoint is not None for head in manifest.heads):
        raise UnavailableError(
            f"{archive.path} was made without keys, and the key that signed its checkpoints is not here: set"
            " HEADGATE_SIGNING_KEYS_FILE to it"
        )
    return []


async def _restore_all(
    settings: Settings,
    staged: StagedFolder,
    archive: Archive,
    key: PassphraseKey | None,
    files: Iterable[KeyFile],
    order: RestoreOrder,
    clock: Clock,
    progress: Progress,
) -> RestoreReport:
    open_data_directory(staged.data)
    try:
        write_key_files(staged.data.root, files)
    except OSError as error:
        raise disk_error(error, staged.data.root) from error
    new = dataclasses.replace(settings, data_dir=staged.data.root)
    async with _opened_target(new, archive.manifest) as (administrator, owner):
        codes = _entry_codes(staged.data.master_keys, settings)
        withdrawn = await _restore_database(archive, key, administrator, owner, codes, order, clock, progress)
        if brings_database(settings):
            await prepare_database(postgres_of(new), load_secrets(staged.data))
    aside = staged.commit(archive.manifest.backup_id, f"restore-{clock():%Y%m%dT%H%M%SZ}")
    return RestoreReport(archive.manifest, withdrawn, aside)


async def _restore_database_only(
    settings: Settings,
    archive: Archive,
    key: PassphraseKey | None,
    order: RestoreOrder,
    clock: Clock,
    progress: Progress,
) -> RestoreReport:
    if brings_database(settings):
        raise ValidationError(
            "--database-only is for a database of your own: set HEADGATE_DATABASE_URL, or leave the option out"
        )
    owner = settings.database_url_of(Part.OWNER)
    codes = _entry_codes(settings.data.master_keys, settings)
    withdrawn = await _restore_database(archive, key, owner, owner, codes, order, clock, progress)
    return RestoreReport(archive.manifest, withdrawn)


@asynccontextmanager
async def _opened_target(settings: Settings, manifest: Manifest) -> AsyncIterator[tuple[Secret, Secret]]:
    """The addresses of the new database: who restores the dump, and the owner of the tables."""
    if not brings_database(settings):
        owner = settings.database_url_of(Part.OWNER)
        yield owner, owner
        return
    if manifest.owner != OWNER:
        raise ValidationError(
            f"the tables of this backup belong to the role {manifest.owner}, so it was made of a database of your own:"
            " set HEADGATE_OWNER_DATABASE_URL to an empty one of that owner"
        )
    secrets = load_secrets(settings.data)
    server = postgres_of(settings)
    await postgres.initialize(server, secrets.passwords[SUPERUSER])
    async with running_server(server, secrets.passwords[SUPERUSER]):
        await ensure_database(server, secrets)
        yield server.url(SUPERUSER, secrets.passwords[SUPERUSER]), server.url(OWNER, secrets.passwords[OWNER])


async def _restore_database(
    archive: Archive,
    key: PassphraseKey | None,
    administrator: Secret,
    owner: Secret,
    codes: EntryCodes,
    order: RestoreOrder,
    clock: Clock,
    progress: Progress,
) -> dict[str, Withdrawn]:
    manifest = archive.manifest
    withdrawn: dict[str, Withdrawn] = {}
    with RestoreTarget(administrator, manifest.owner) as target:
        if not target.prepare(manifest):
            program = find_program("pg_restore", max(target.major, manifest.server_version // 10_000))
            await asyncio.to_thread(load, program, administrator, _counted(archive, key, progress))
        if not target.is_checked():
            # Also in a run after one that was refused here: it finds the same dump in the database.
            _require_heads(archive, target)
            target.mark_checked()
        await migrate_restored(owner.reveal())
        done = target.done()
        inspected = {head.org_id for head in manifest.heads if target.is_inspected(head.org_id)}
        database = Database(owner, max_connections=2, timeout_seconds=_STATEMENT_SECONDS, entry_codes=codes)
        await database.open()
        try:
            await seal_all(database)
            for head in manifest.heads:
                if head.org_id not in done and head.org_id not in inspected:
                    withdrawn[head.org_id] = await _continue(database, manifest, head, order, clock)
            await seal_all(database)
        finally:
            await database.close()
        target.finish()
    return withdrawn


def _entry_codes(restored: Path, settings: Settings) -> EntryCodes:
    """Of the processes that wrote what the journal of the backup holds: with its keys, or those that are here."""
    unwrapper = Unwrapper(KeyServices(kms_access(settings)), wait_seconds=COMMAND_WAIT_SECONDS)
    return EntryCodes(Vault(restored if restored.exists() else keys_file_of(settings), unwrapper).master_keys)


async def _continue(database: Database, manifest: Manifest, head: Head, order: RestoreOrder, clock: Clock) -> Withdrawn:
    restored = Restored(
        org_id=head.org_id,
        backup_id=manifest.backup_id,
        backup_at=manifest.created_at,
        restored_by=order.restored_by,
        head_seq=head.seq,
        head_hash=head.hash,
        waiting=head.waiting,
        checkpoint=head.checkpoint,
    )
    async with begin_change(database, Change(head.org_id, SYSTEM, None, clock())) as change:
        withdrawn = await continue_organization(change, restored)
        statement, values = mark_done(head.org_id)
        await change.connection.execute(statement, list(values))
    return withdrawn


def _counted(archive: Archive, key: PassphraseKey | None, progress: Progress) -> Iterable[bytes]:
    for piece in archive.read(DATABASE, key):
        progress(f"{DATABASE} (restored)", len(piece))
        yield piece


def _require_heads(archive: Archive, target: RestoreTarget) -> None:
    """Raises ConflictError: the dump is not the one that the manifest tells of."""
    expected = {head.org_id: (head.seq, head.hash) for head in archive.manifest.heads}
    found = target.heads()
    for org_id in sorted(expected.keys() | found.keys()):
        if expected.get(org_id) != found.get(org_id):
            raise ConflictError(
                f"{archive.path}: the audit log of {org_id} ends at {found.get(org_id)}, and the manifest says"
                f" {expected.get(org_id)}: the backup was changed; use another one"
            )
