"""``headgate audit set-aside``: entries of the journal that could not be applied."""

from __future__ import annotations

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import json_option, result_option
from headgate.client import operations


@click.group("set-aside")
def set_aside() -> None:
    """Journal entries that could not be applied: list, apply."""


@set_aside.command("list")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def list_entries(client: ApiClient, limit: int, as_json: bool) -> None:
    """List entries that were set aside, oldest first, with the reasons.

    No other list or table shows them.
    """
    answer = client.send(operations.get_audit_set_aside, limit=limit)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("No entry is set aside.")
        return
    show_table(
        ("ENTRY", "KIND", "ACTION", "BYTES", "SET ASIDE", "REASON"),
        (
            (
                one["id"],
                one["kind"],
                one["action_id"] or "",
                one["bytes"],
                one["set_aside_at"][:19],
                _first_line(one["failure"]),
            )
            for one in answer["data"]
        ),
    )


def _first_line(failure: str) -> str:
    """PostgreSQL's errors go on with their context; --json has all of it."""
    return failure.partition("\n")[0]


@set_aside.command("apply")
@click.argument("entry")
@result_option
@client_option
def apply_entry(client: ApiClient, entry: str, as_json: bool) -> None:
    """Apply an entry that was set aside, after you have removed the cause.

    ENTRY is the name that headgate audit set-aside list prints. The event journal_entry.applied records who did it. If
    the entry still cannot be applied, the command says why, and the entry stays set aside.
    """
    applied = client.send(operations.apply_audit_set_aside, entry)
    if as_json:
        show_json(applied)
        return
    about = "" if applied["action_id"] is None else f" of {safe(applied['action_id'])}"
    click.echo(f"applied entry {safe(applied['id'])}: {safe(applied['kind'])}{about}")
