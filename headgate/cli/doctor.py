"""``headgate doctor``."""

import sys
from pathlib import Path

import click

from headgate.cli.diagnosis import Verdict, diagnose
from headgate.cli.tables import safe
from headgate.cli.target import runtime_file_option


@click.command()
@click.option("--quiet", is_flag=True, help="Only what is wrong; for health checks.")
@runtime_file_option
def doctor(quiet: bool, runtime_file: Path | None) -> None:
    """Say what is wrong with this set-up, in plain words; status 1 where something is."""
    is_wrong = False
    for finding in diagnose(runtime_file):
        is_wrong = is_wrong or finding.verdict is Verdict.WRONG
        if finding.verdict is Verdict.WRONG or not quiet:
            click.echo(f"{finding.verdict.value.upper():<6}{safe(finding.text)}")
    sys.exit(1 if is_wrong else 0)
