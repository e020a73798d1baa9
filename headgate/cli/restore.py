"""``headgate restore``: an instance as it was when a backup was made, and a log that says so."""

import asyncio
import dataclasses
import shlex
from pathlib import Path

import click
from msgspec.structs import asdict

from headgate.cli.backup import manifest_answer, passphrase_option
from headgate.cli.backup_options import SizeLine, operator, passphrase_of
from headgate.cli.command_name import command_name
from headgate.cli.local_data import find_restore_target
from headgate.cli.tables import counted, safe, show_json
from headgate.cli.target import result_option
from headgate.configuration.settings import read_settings
from headgate.kernel.loading import loading


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@passphrase_option
@click.option(
    "--replace",
    "replace_data",
    is_flag=True,
    help="Restore over a data directory that is not empty. Its content is kept in a folder before-restore-TIME.",
)
@click.option(
    "--database-only",
    is_flag=True,
    help="Restore only a database of your own (HEADGATE_DATABASE_URL); the keys on this machine stay.",
)
@result_option
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="The data directory (HEADGATE_DATA_DIR). Default: that of the instance on this machine (.headgate in a clone);"
    " required where there is none.",
)
def restore(
    file: Path,
    passphrase_file: Path | None,
    replace_data: bool,
    database_only: bool,
    as_json: bool,
    data_dir: Path | None,
) -> None:
    """Restore a backup into an empty data directory, with the database in it or with an empty database of your own.

    No instance may run there. The database loses all records made after the backup. The audit log of each organization
    records the restore. Unused approvals, grants and queued executions are withdrawn, because they may have been used
    after the backup. All people must sign in again. If the command was interrupted, run it again.
    """
    with loading():
        from headgate.backup.restore import RestoreOrder, restore_backup  # noqa: PLC0415 - loaded by this command only
        from headgate.kernel.clock import system_clock  # noqa: PLC0415

    settings = read_settings()
    if data_dir is not None or not database_only:
        settings = dataclasses.replace(settings, data_dir=find_restore_target(data_dir).root)
    order = RestoreOrder(file, operator(), passphrase_of(passphrase_file, settings), replace_data, database_only)
    line = SizeLine("restoring")
    try:
        report = asyncio.run(restore_backup(settings, order, system_clock, line.progress))
    finally:
        line.end()
    where = "the database" if database_only else str(settings.data_dir)
    if as_json:
        withdrawn = {org_id: asdict(one) for org_id, one in report.withdrawn.items()}
        aside = None if report.aside is None else str(report.aside)
        show_json({**manifest_answer(report.manifest), "target": where, "withdrawn": withdrawn, "kept_before": aside})
        return
    if report.completed:
        click.echo(f"completed an interrupted restore of this backup into {safe(where)}")
        return
    click.echo(f"restored {safe(report.manifest.backup_id)} into {safe(where)}")
    for head in report.manifest.heads:
        click.echo(f"{safe(head.org_id)}: the log ends at event {head.seq} of the backup, then records the restore")
        if (one := report.withdrawn.get(head.org_id)) is not None:
            click.echo(
                f"  withdrawn: {counted(one.approvals, 'approval')}, {one.queued_executions} queued and"
                f" {counted(one.running_executions, 'running execution')}, {counted(one.grants, 'grant')},"
                f" {counted(one.break_glass, 'break-glass use')}, {counted(one.sessions, 'session')}"
            )
    if report.aside is not None:
        click.echo(f"What was there before is in {safe(report.aside)}: delete it when you no longer need it", err=True)
    click.echo("Check what was revoked after the backup, and revoke it again (docs/guides/backup.md)", err=True)
    if not database_only:
        click.echo(f"Start it: {command_name()} up --data-dir {shlex.quote(safe(where))}", err=True)
