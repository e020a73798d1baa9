"""``headgate backup``: one file with everything that a new machine needs to go on."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from headgate.cli.backup_options import SizeLine, operator, passphrase_of, settings_of, shown_size
from headgate.cli.local_data import data_dir_option
from headgate.cli.tables import safe, show_json
from headgate.cli.target import result_option, runtime_file_option
from headgate.configuration.settings import read_settings
from headgate.kernel.errors import ValidationError
from headgate.kernel.loading import loading

passphrase_option = click.option(
    "--passphrase-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file whose first line is the passphrase (HEADGATE_BACKUP_PASSPHRASE, HEADGATE_BACKUP_PASSPHRASE_FILE).",
)


@click.group()
def backup() -> None:
    """Create a backup of an instance, running or stopped; verify a backup. To restore one: headgate restore."""


@backup.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="The file, or a folder for it. Default: headgate-TIME.backup in the current folder.",
)
@passphrase_option
@click.option("--unencrypted", is_flag=True, help="Do not encrypt the file. Its keys then open all secrets.")
@click.option("--without-keys", is_flag=True, help="Only the database: the keys are kept elsewhere.")
@result_option
@data_dir_option
@runtime_file_option
def create(
    output: Path | None,
    passphrase_file: Path | None,
    unencrypted: bool,
    without_keys: bool,
    as_json: bool,
    data_dir: Path | None,
    runtime_file: Path | None,
) -> None:
    """Back up the database and the keys of an instance to one file (mode 0600). A running instance keeps running.

    A passphrase encrypts the file. A backup cannot be restored without it: keep the passphrase apart from the backups.
    """
    with loading():
        from headgate.backup.create import Order, create_backup  # noqa: PLC0415 - loaded by this command only
        from headgate.kernel.clock import system_clock  # noqa: PLC0415

    settings = settings_of(data_dir, runtime_file)
    passphrase = passphrase_of(passphrase_file, settings)
    if passphrase is None and not unencrypted:
        raise ValidationError(
            "a backup holds every recorded call and the keys to all stored secrets. Give a passphrase for it with"
            " --passphrase-file or HEADGATE_BACKUP_PASSPHRASE, or leave it unencrypted with --unencrypted"
        )
    now = system_clock()
    order = Order(
        output=_output(output, now),
        created_by=operator(),
        passphrase=None if unencrypted else passphrase,
        with_keys=not without_keys,
    )
    line = SizeLine("backing up")
    try:
        manifest = asyncio.run(create_backup(settings, order, system_clock, line.progress))
    finally:
        line.end()
    if as_json:
        show_json({"file": str(order.output), **manifest_answer(manifest)})
        return
    size = shown_size(order.output.stat().st_size)
    click.echo(f"{safe(order.output)}: {size}, {_said(manifest)}")
    click.echo(f"Verify it: headgate backup verify {safe(order.output)}", err=True)


@backup.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@passphrase_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(file: Path, passphrase_file: Path | None, as_json: bool) -> None:
    """Compare all parts of a backup with the digests in its manifest. Needs no instance.

    With the passphrase, also decrypt all parts and authenticate the manifest: without it, a person who may write the
    file could replace both. Exit status 1 if the file was changed.
    """
    with loading():
        from headgate.backup.verify import verify_backup  # noqa: PLC0415 - loaded by this command only

    line = SizeLine("verifying")
    try:
        manifest = verify_backup(file, passphrase_of(passphrase_file, read_settings()), line.progress)
    finally:
        line.end()
    if as_json:
        show_json({"valid": True, "file": str(file), **manifest_answer(manifest)})
        return
    click.echo(f"{safe(file)} is whole: {_said(manifest)}")


def _output(output: Path | None, now: datetime) -> Path:
    name = f"headgate-{now:%Y%m%dT%H%M%SZ}.backup"
    if output is None:
        return Path(name)
    return output / name if output.is_dir() else output


def manifest_answer(manifest: Any) -> dict[str, Any]:
    """What JSON output says of a backup."""
    return {
        "backup_id": manifest.backup_id,
        "created_at": manifest.created_at.isoformat(),
        "created_by": manifest.created_by,
        "program_version": manifest.program_version,
        "encrypted": manifest.encryption is not None,
        "keys": manifest.has_keys,
        "organizations": [{"org_id": one.org_id, "seq": one.seq, "hash": one.hash} for one in manifest.heads],
    }


def _said(manifest: Any) -> str:
    heads = len(manifest.heads)
    events = sum(one.seq for one in manifest.heads)
    keys = "with keys" if manifest.has_keys else "WITHOUT keys"
    sealed = "encrypted" if manifest.encryption is not None else "NOT encrypted"
    return (
        f"{events} sealed events of {heads} organization{'' if heads == 1 else 's'}, {keys}, {sealed},"
        f" made {manifest.created_at:%Y-%m-%d %H:%M:%S} UTC by {safe(manifest.created_by)} ({manifest.backup_id})"
    )
