"""``headgate upgrade``: the embedded database, from one major version of PostgreSQL to the next."""

import asyncio
from pathlib import Path

import click

from headgate.cli.backup_options import SizeLine, settings_of
from headgate.cli.local_data import data_dir_option
from headgate.cli.tables import safe, show_json
from headgate.cli.target import result_option
from headgate.kernel.loading import loading


@click.command()
@click.option(
    "--old-binaries",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder with postgres of the old version. Default: those of this installation, then /usr/lib/postgresql.",
)
@result_option
@data_dir_option
def upgrade(old_binaries: Path | None, as_json: bool, data_dir: Path | None) -> None:
    """Move the embedded database to the major version of PostgreSQL that this version of Headgate uses.

    Stop the instance and make a backup first. The old database is kept in a folder before-upgrade-TIME. If the command
    was interrupted, run it again.
    """
    with loading():
        from headgate.backup.upgrade import upgrade_database  # noqa: PLC0415 - loaded by this command only
        from headgate.kernel.clock import system_clock  # noqa: PLC0415

    settings = settings_of(data_dir, None)
    line = SizeLine("moving")
    try:
        done = asyncio.run(upgrade_database(settings, old_binaries, system_clock, line.progress))
    finally:
        line.end()
    if as_json:
        kept = None if done is None or done.kept is None else str(done.kept)
        source = None if done is None else done.source
        show_json({"upgraded": done is not None, "from": source, "kept_before": kept})
        return
    if done is None:
        click.echo("up to date")
        return
    click.echo(f"moved the database from PostgreSQL {safe(done.source)} to {done.target}: {done.rows} rows")
    if done.kept is not None:
        click.echo(f"The old database is in {safe(done.kept)}: delete it when you no longer need it", err=True)
