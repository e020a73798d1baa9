"""``headgate break-glass``: an emergency exemption for one denied action, with a review afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headgate.cli.actor_text import People
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.named_id import ACTION, BREAK_GLASS, id_of
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import OpenRequest, ReviewOutcome, ReviewRequest


@click.group("break-glass")
def break_glass() -> None:
    """Exempt one denied action in an emergency, and review such uses."""


@break_glass.command("open")
@click.argument("action_id")
@click.option("--reason", required=True, help="Recorded in the audit log. The reviewer sees it.")
@click.option("--seconds", type=click.IntRange(1, 3600), default=900, show_default=True, help="Validity.")
@json_option
@client_option
def open_glass(client: ApiClient, action_id: str, reason: str, seconds: int, as_json: bool) -> None:
    """Allow the next call that is identical to a denied action, once (needs the role break_glass)."""
    action_id = id_of(client, ACTION, action_id)
    body: OpenRequest = {"action_id": action_id, "reason": reason, "expires_in_seconds": seconds}
    answer = client.send(operations.create_break_glass, body)
    if as_json:
        show_json(answer)
        return
    click.echo(
        f"break-glass use opened: the next identical call of {safe(answer['agent_id'])} goes through once, until"
        f" {safe(answer['expires_at'])} ({safe(answer['id'])})"
    )


@break_glass.command("list")
@click.option("--open", "open_only", is_flag=True, help="Only uses whose review is open.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def list_all(client: ApiClient, open_only: bool, limit: int, as_json: bool) -> None:
    """List break-glass uses, newest first."""
    answer = client.send(operations.list_break_glass, open=open_only, limit=limit)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("none")
        return
    people = People(client)
    show_table(
        ("ID", "STATUS", "REVIEW", "BY", "CALL", "REASON"),
        (
            (
                one["id"],
                one["status"],
                "open" if one["review"] is None else one["review"]["outcome"],
                people.text(one["opened_by"]["id"], one["opened_by"]["email"]),
                f"{one['tool']}.{one['operation']}",
                one["reason"],
            )
            for one in answer["data"]
        ),
    )


@break_glass.command()
@click.argument("glass_id")
@json_option
@client_option
def end(client: ApiClient, glass_id: str, as_json: bool) -> None:
    """End a use that you opened, early. A second person must still review it."""
    answer = client.send(operations.end_break_glass, id_of(client, BREAK_GLASS, glass_id))
    if as_json:
        show_json(answer)
        return
    click.echo(f"{safe(answer['id'])} has ended")


@break_glass.command()
@click.argument("glass_id")
@click.option("--outcome", type=click.Choice(["justified", "not_justified"]), required=True)
@click.option("--note", help="Required if the use was not justified.")
@json_option
@runtime_file_option
def review(glass_id: str, outcome: ReviewOutcome, note: str | None, as_json: bool, runtime_file: Path | None) -> None:
    """Review a break-glass use. A second person must review it."""
    body: ReviewRequest = {"outcome": outcome}
    if note is not None:
        body["note"] = note
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.review_break_glass, id_of(client, BREAK_GLASS, glass_id), body)
    if as_json:
        show_json(answer)
        return
    recorded = answer["review"]
    click.echo(f"{safe(answer['id'])} was {safe(outcome if recorded is None else recorded['outcome'])}")
