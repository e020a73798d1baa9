"""The commands of ``headgate secrets``, which work on the file of master keys and the database."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import asdict

from headgate.cli.key_unwrapper import command_unwrapper
from headgate.cli.local_data import data_dir_option, find_data
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import find_instance, result_option, runtime_file_option
from headgate.configuration.data_directory import DataDirectory
from headgate.configuration.settings import Part, read_settings
from headgate.db.database import Database
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.vault.rotation import SETTLE_SECONDS, KeyState, Rotated, file_fault, key_states, prepare_key, retire_key
from headgate.vault.rotation import rotate as rotate_keys
from headgate.vault.unwrapper import Unwrapper


class _Where(Struct, frozen=True):
    keys_file: Path
    database: Secret
    captures: Path
    unwrapper: Unwrapper


@click.command()
@result_option
@data_dir_option
@runtime_file_option
def status(as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """List the master keys, the number of secrets under each, and problems. Exit status 1 if there is a problem."""
    where = _find(data_dir, runtime_file)

    async def ask() -> tuple[list[KeyState], str | None]:
        async with _open(where) as database:
            keys = (where.keys_file, where.unwrapper)
            return await key_states(database, *keys), await file_fault(database, *keys)

    states, fault = asyncio.run(ask())
    if as_json:
        show_json([asdict(one) for one in states])
    else:
        show_table(
            ("KEY", "CURRENT", "SECRETS", "STATE", "WRAPPED WITH"),
            (
                (one.key_id, "yes" if one.is_current else "", one.secrets, one.fault or "ok", one.kms or "")
                for one in states
            ),
        )
    if fault is not None:
        click.echo(safe(fault), err=True)
    if fault is not None or any(one.fault for one in states):
        sys.exit(1)


@click.command()
@result_option
@data_dir_option
@runtime_file_option
def prepare(as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """Add a key that is not used yet. With several machines, copy the file to each, rotate, and copy it again."""
    where = _find(data_dir, runtime_file)
    prepared = prepare_key(where.keys_file, where.unwrapper)
    if as_json:
        show_json({"prepared": prepared})
        return
    click.echo(f"prepared {prepared}")


@click.command()
@click.option(
    "--settle-seconds",
    type=click.FloatRange(0, 3600),
    default=SETTLE_SECONDS,
    show_default=True,
    help="Wait time before the check for secrets that were stored under the old key in the meantime.",
)
@result_option
@data_dir_option
@runtime_file_option
def rotate(settle_seconds: float, as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """Make a new key (or the prepared key) the current key and rewrap all secrets with it. The instance keeps running.
    If the command was interrupted, run it again. Exit status 1 if a secret cannot be decrypted."""
    where = _find(data_dir, runtime_file)

    async def act() -> Rotated:
        async with _open(where) as database:
            return await rotate_keys(database, where.keys_file, where.unwrapper, settle_seconds=settle_seconds)

    done = asyncio.run(act())
    if as_json:
        failures = [{"org_id": org_id, "name": name} for org_id, name in done.failures]
        show_json({**asdict(done), "failures": failures})
    else:
        click.echo(f"{done.current} is the current key. Rewrapped {done.rewrapped} secrets")
    for org_id, name in done.failures:
        click.echo(f"does not open with any key of the file: {safe(org_id)} {safe(name)}", err=True)
    if done.failures:
        sys.exit(1)
    click.echo("To remove keys that are no longer used: headgate secrets retire KEY", err=True)


@click.command()
@click.argument("key_id")
@click.option(
    "--give-up-set-aside",
    is_flag=True,
    help="Retire the key even if entries that were set aside need it. They can never be applied then.",
)
@result_option
@data_dir_option
@runtime_file_option
def retire(
    key_id: str, give_up_set_aside: bool, as_json: bool, data_dir: Path | None, runtime_file: Path | None
) -> None:
    """Remove a key from the file. Refused while a secret, an entry that waits in the journal or was set aside, or
    captured traffic of this machine that is not recorded yet needs it. Backups from before the rotation still need it.
    """
    from headgate.traffic.spool_reader import files_under_keys  # noqa: PLC0415 - for this alone

    where = _find(data_dir, runtime_file)

    async def act() -> None:
        async with _open(where) as database:
            spooled = files_under_keys(where.captures)
            await retire_key(
                database,
                where.keys_file,
                key_id,
                where.unwrapper,
                spooled=spooled,
                give_up_set_aside=give_up_set_aside,
            )

    asyncio.run(act())
    if as_json:
        show_json({"retired": key_id})
        return
    click.echo(f"retired {safe(key_id)}")


def _find(data_dir: Path | None, runtime_file: Path | None) -> _Where:
    """The settings of this shell, else those of the instance on this machine. Raises UnavailableError."""
    settings = read_settings()
    unwrapper = command_unwrapper(settings)
    try:
        database = settings.database_url_of(Part.API)
    except ValidationError:
        data = find_data(data_dir, runtime_file)
        named = runtime_file or (None if "HEADGATE_RUNTIME_FILE" in os.environ else data.runtime_file)
        keys_file = settings.master_keys_file or data.master_keys
        return _Where(keys_file, find_instance(named).database_url, data.captures, unwrapper)
    if settings.master_keys_file is not None:
        captures = (DataDirectory(data_dir) if data_dir else settings.data).captures
        return _Where(settings.master_keys_file, database, captures, unwrapper)
    data = find_data(data_dir, runtime_file)
    return _Where(data.master_keys, database, data.captures, unwrapper)


@asynccontextmanager
async def _open(where: _Where) -> AsyncIterator[Database]:
    database = Database(where.database, max_connections=1, timeout_seconds=60)
    await database.open()
    try:
        yield database
    finally:
        await database.close()
