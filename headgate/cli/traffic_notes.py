"""``headgate traffic note``: what reviewers note about a captured exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.named_id import EXCHANGE, id_of
from headgate.cli.tables import safe, show_json
from headgate.cli.target import json_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import AnnotationRequest


@click.command()
@click.argument("exchange_id")
@click.argument("text", default="")
@click.option("--tag", "tags", multiple=True, help="For example: exfiltration. Repeatable.")
@json_option
@client_option
def note(client: ApiClient, exchange_id: str, text: str, tags: tuple[str, ...], as_json: bool) -> None:
    """Set the note and the tags of an exchange, for other reviewers. They replace the earlier note and tags. Without
    TEXT and --tag, both are removed. The audit log records the change."""
    body: AnnotationRequest = {"note": text, "tags": list(tags)}
    answer = client.send(operations.put_traffic_annotation, id_of(client, EXCHANGE, exchange_id), body)
    if as_json:
        show_json(answer)
        return
    click.echo(f"{safe(answer['id'])} has {'a note' if text else 'no note'}, tags: {safe(', '.join(tags)) or 'none'}")
