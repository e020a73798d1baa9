"""``headgate doctor``."""

import sys
from pathlib import Path

import click

from headgate.cli.diagnosis import diagnose
from headgate.cli.finding import Verdict
from headgate.cli.tables import safe, show_json
from headgate.cli.target import result_option, runtime_file_option


@click.command()
@click.option("--quiet", is_flag=True, help="Show problems only, for health checks.")
@result_option
@runtime_file_option
def doctor(quiet: bool, as_json: bool, runtime_file: Path | None) -> None:
    """Diagnose the configuration and the running instance. Exit status 1 if there is a problem."""
    is_wrong = False
    shown: list[dict[str, str]] = []
    for finding in diagnose(runtime_file):
        is_wrong = is_wrong or finding.verdict is Verdict.WRONG
        if quiet and finding.verdict is not Verdict.WRONG:
            continue
        shown.append({"verdict": finding.verdict.value, "text": finding.text})
        if not as_json:
            click.echo(f"{finding.verdict.value.upper():<6}{safe(finding.text)}")
    if as_json:
        show_json({"ok": not is_wrong, "findings": shown})
    sys.exit(1 if is_wrong else 0)
