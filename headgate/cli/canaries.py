"""``headgate canaries``: values that no call may hold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.named_id import CANARY, id_of
from headgate.cli.tables import show_json, show_table
from headgate.cli.target import json_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import NewCanary


@click.group()
def canaries() -> None:
    """Canary tokens: planted values that no call may contain."""


@canaries.command()
@click.argument("name")
@click.option("--value-stdin", is_flag=True, help="Read the value from standard input. Default: a random value.")
@json_option
@client_option
def create(client: ApiClient, name: str, value_stdin: bool, as_json: bool) -> None:
    """Create a canary token. Prints a generated value, once. NAME says where you plant it."""
    body: NewCanary = {"name": name}
    if value_stdin:
        body["value"] = sys.stdin.readline().strip()
    answer = client.send(operations.create_canary, body)
    if as_json:
        show_json(answer)
        return
    if value_stdin:
        click.echo(f"created {answer['id']}")
        return
    click.echo(f"created {answer['id']}. Its value, shown only once:", err=True)
    click.echo(answer["value"])


@canaries.command("list")
@json_option
@client_option
def list_all(client: ApiClient, as_json: bool) -> None:
    """List canary tokens, newest first, without their values."""
    answer = client.send(operations.get_canaries)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("none")
        return
    show_table(
        ("ID", "NAME", "BEGINS WITH", "LENGTH", "STATUS", "CREATED"),
        (
            (
                one["id"],
                one["name"],
                one["begins_with"],
                one["length"],
                "revoked" if one["revoked_at"] else "active",
                one["created_at"],
            )
            for one in answer["data"]
        ),
    )


@canaries.command()
@click.argument("canary")
@json_option
@client_option
def revoke(client: ApiClient, canary: str, as_json: bool) -> None:
    """Revoke a canary token (name or id): calls may contain its value again."""
    answer = client.send(operations.delete_canary, id_of(client, CANARY, canary))
    if as_json:
        show_json(answer)
        return
    click.echo(f"revoked {answer['id']}")
