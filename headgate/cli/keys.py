"""``headgate keys``: which there are, which are due for rotation, and what to do when one has leaked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headgate.agents.keys import keys_in
from headgate.cli.agent_name import agent_names_of
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.named_id import KEY, id_of
from headgate.cli.tables import show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.kernel.errors import ValidationError

if TYPE_CHECKING:
    from headgate.client.types import KeyAnswer, Leaked, RevokedKeysAnswer


@click.group()
def keys() -> None:
    """List, adopt and revoke API keys, including leaked keys."""


@keys.command("list")
@click.option("--status", type=click.Choice(["active", "expired", "revoked", "stopped"]))
@click.option("--kind", type=click.Choice(["agent", "admin", "webhook"]))
@click.option("--due", is_flag=True, help="Only active keys that are at least 90 days old.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def list_all(client: ApiClient, status: str | None, kind: str | None, due: bool, limit: int, as_json: bool) -> None:
    """List keys, newest first, and warn of keys that are due for rotation."""
    answer = client.send(
        operations.list_keys, status=status, kind=kind, limit=limit, rotation_due=True if due else None
    )
    if as_json:
        show_json(answer)
        return
    _show(client, answer["data"])
    old = sum(one["rotation_due"] for one in answer["data"])
    if old:
        click.echo(
            f"{old} of these active keys are at least 90 days old: replace them (headgate agents rotate-key)", err=True
        )


@keys.command()
@click.argument("key_id", required=False)
@click.option(
    "--matching",
    metavar="TEXT",
    help="All matching keys. TEXT contains keys, or is the beginning of a key or an agent id. - reads standard input,"
    " which keeps a key out of the process list.",
)
@click.option("--only-show", is_flag=True, help="Change nothing.")
@json_option
@runtime_file_option
def revoke(key_id: str | None, matching: str | None, only_show: bool, as_json: bool, runtime_file: Path | None) -> None:
    """Revoke one key by its id, or all keys that match a leaked text. They stop working immediately."""
    if key_id is not None and matching is None:
        if only_show:
            raise click.UsageError("--only-show requires --matching")
        client = ApiClient(find_target(runtime_file))
        deleted = client.send(operations.delete_key, id_of(client, KEY, key_id))
        answer: RevokedKeysAnswer = {"data": [deleted], "revoked": 1}
    elif matching is not None and key_id is None:
        client = ApiClient(find_target(runtime_file))
        body: Leaked = {"matching": _known(sys.stdin.read() if matching == "-" else matching), "only_show": only_show}
        answer = client.send(operations.revoke_matching_keys, body)
    else:
        raise click.UsageError("Give one key, or --matching TEXT.")
    if as_json:
        show_json(answer)
        return
    _show(client, answer["data"])
    click.echo(f"{answer['revoked']} {'would be ' if only_show else ''}revoked", err=True)


@keys.command("take-over")
@click.argument("key_id")
@json_option
@client_option
def take_over(client: ApiClient, key_id: str, as_json: bool) -> None:
    """Adopt a program's key. A key that stopped when its creator was deactivated works again."""
    answer = client.send(operations.take_over_key, id_of(client, KEY, key_id))
    if as_json:
        show_json(answer)
        return
    _show(client, [answer])


def _known(text: str) -> str:
    """Of a text with keys in it, only the keys: the rest of a log is nobody's business."""
    if not text.strip():
        raise ValidationError("The text to match is empty.")
    return "\n".join(keys_in(text)) or text.strip()


def _show(client: ApiClient, found: list[KeyAnswer]) -> None:
    names = agent_names_of(client, (one["agent_id"] for one in found))
    show_table(
        ("KEY", "KIND", "BEGINS", "STATUS", "AGENT", "LAST USED", "ENDS", "ROTATE"),
        (
            (
                one["id"],
                one["kind"],
                one["display"],
                one["status"],
                None if one["agent_id"] is None else names.get(one["agent_id"], one["agent_id"]),
                (one["last_used_at"] or "never")[:19],
                (one["expires_at"] or "never")[:19],
                "due" if one["rotation_due"] else "",
            )
            for one in found
        ),
    )
