"""``headgate audit``: whether the record is what was recorded."""

import sys
from pathlib import Path

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe, show_json
from headgate.cli.target import find_target, json_option, runtime_file_option


@click.group()
def audit() -> None:
    """Verify the record."""


@audit.command()
@click.option("--start", "start_date", help="Events sealed from then on (ISO 8601).")
@click.option("--end", "end_date", help="Events sealed until then (ISO 8601).")
@json_option
@runtime_file_option
def verify(start_date: str | None, end_date: str | None, as_json: bool, runtime_file: Path | None) -> None:
    """Check the hash chain; status 1 where an event is not what was sealed."""
    body = {name: value for name, value in (("start_date", start_date), ("end_date", end_date)) if value is not None}
    answer = ApiClient(find_target(runtime_file)).post("/admin/audit/verify", body)
    if as_json:
        show_json(answer)
    elif answer["valid"]:
        click.echo(f"the chain is valid: {answer['events_verified']} events, up to {safe(answer['chain_end_hash'])}")
    else:
        fault = answer["fault"]
        click.echo(
            f"THE CHAIN IS BROKEN at event number {fault['seq']} ({safe(fault['event_id'])}): {safe(fault['message'])}",
            err=True,
        )
    if not answer["valid"]:
        sys.exit(1)
