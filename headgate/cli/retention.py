"""``headgate retention``: how long bodies are kept, legal holds, and erasure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.actor_text import People
from headgate.cli.agent_name import agent_id_if_named
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.named_id import ACTION, HOLD, id_of
from headgate.cli.tables import counted, safe, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import ErasureDepth, ErasureRequest, HoldAnswer, HoldRequest, HoldScope


@click.group()
def retention() -> None:
    """Retention of bodies, legal holds, erasure. The audit log itself is kept."""


@retention.command()
@json_option
@client_option
def show(client: ApiClient, as_json: bool) -> None:
    """Show after how many days Headgate encrypts and drops bodies."""
    answer = client.send(operations.get_settings_retention)
    if as_json:
        show_json(answer)
    else:
        _show(answer)


@retention.command("set")
@click.option("--encrypt-after", metavar="DAYS", help="Encrypt bodies under separate keys. never: do not.")
@click.option(
    "--drop",
    "drops",
    multiple=True,
    metavar="KIND=DAYS",
    help="Drop bodies, captures or reports. never: keep them.",
)
@json_option
@client_option
def set_policy(client: ApiClient, encrypt_after: str | None, drops: tuple[str, ...], as_json: bool) -> None:
    """Change retention settings. Options that you omit keep their values."""
    policy = client.send(operations.get_settings_retention)
    if encrypt_after is not None:
        policy["encrypt_after_days"] = _days(encrypt_after)
    for drop in drops:
        kind, separator, days = drop.partition("=")
        if not separator:
            raise click.UsageError("--drop: expected KIND=DAYS, for example bodies=365")
        policy["drop_after_days"][kind] = _days(days)
    answer = client.send(operations.put_settings_retention, policy)
    if as_json:
        show_json(answer)
        return
    _show(answer)


@retention.command()
@click.option("--all", "everything", is_flag=True, help="Also list lifted holds.")
@json_option
@client_option
def holds(client: ApiClient, everything: bool, as_json: bool) -> None:
    """List legal holds, newest first."""
    answer = client.send(operations.get_retention_holds, in_force=not everything)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("none")
        return
    people = People(client)
    rows = [
        (
            one["id"], _covers(one), one["placed_at"][:19], people.text(one["placed_by"]),
            (one["lifted_at"] or "")[:19], one["reason"],
        )
        for one in answer["data"]
    ]  # fmt: skip
    show_table(("HOLD", "COVERS", "PLACED", "BY", "LIFTED", "REASON"), rows)


@retention.command()
@click.option("--agent", metavar="NAME|ID", help="All data of this agent.")
@click.option("--action", metavar="ID", help="This action.")
@click.option("--reason", required=True, help="Recorded in the audit log.")
@json_option
@runtime_file_option
def hold(agent: str | None, action: str | None, reason: str, as_json: bool, runtime_file: Path | None) -> None:
    """Place a legal hold on the organization, one agent or one action. Data under a hold is not dropped or erased."""
    if agent is not None and action is not None:
        raise click.UsageError("give either --agent or --action")
    scope: HoldScope = "agent" if agent is not None else "action" if action is not None else "organization"
    client = ApiClient(find_target(runtime_file))
    target = agent_id_if_named(client, agent) if action is None else id_of(client, ACTION, action)
    body: HoldRequest = {"scope": scope, "target": target, "reason": reason}
    made = client.send(operations.create_retention_hold, body)
    if as_json:
        show_json(made)
        return
    click.echo(f"{safe(made['id'])}: hold placed on {safe(_covers(made))}")


@retention.command()
@click.argument("hold_id")
@click.option("--reason", required=True, help="Reason to lift the hold, not the reason why it was placed.")
@json_option
@client_option
def lift(client: ApiClient, hold_id: str, reason: str, as_json: bool) -> None:
    """Lift a legal hold."""
    lifted = client.send(operations.lift_retention_hold, id_of(client, HOLD, hold_id), {"reason": reason})
    if as_json:
        show_json(lifted)
        return
    click.echo(f"{safe(lifted['id'])}: hold lifted from {safe(_covers(lifted))}")


@retention.command()
@click.argument("action_ids", nargs=-1, required=True)
@click.option(
    "--everything", is_flag=True, help="Also erase the payloads of their audit events. Event headers are kept."
)
@click.option("--reason", required=True, help="Shown in proof packs.")
@yes_option
@json_option
@runtime_file_option
def erase(
    action_ids: tuple[str, ...], everything: bool, reason: str, yes: bool, as_json: bool, runtime_file: Path | None
) -> None:
    """Erase the stored data of actions permanently. Exit status 1 if an action could not be erased."""
    depth: ErasureDepth = "everything" if everything else "bodies"
    client = ApiClient(find_target(runtime_file))
    whole = [id_of(client, ACTION, one) for one in action_ids]
    confirm(f"Erase the stored data of {counted(len(whole), 'action')} permanently?", yes=yes)
    body: ErasureRequest = {"action_ids": whole, "depth": depth, "reason": reason}
    answer = client.send(operations.create_retention_erasure, body)
    if as_json:
        show_json(answer)
    for one in [] if as_json else answer["actions"]:
        click.echo(f"{safe(one['action_id'])}: {safe(one['outcome'])}")
    if any(one["outcome"] not in ("erased", "already_erased") for one in answer["actions"]):
        sys.exit(1)


def _covers(hold: HoldAnswer) -> str:
    return "everything" if hold["scope"] == "organization" else f"{hold['scope']} {hold['target']}"


def _days(text: str) -> int | None:
    if text == "never":
        return None
    if not text.isascii() or not text.isdigit():
        raise click.UsageError(f"{text!r}: expected a whole number of days, or never")
    return int(text)


def _show(policy: dict[str, Any]) -> None:
    days = policy["encrypt_after_days"]
    click.echo("encrypted      never" if days is None else f"encrypted      after {days} days")
    for kind, after in sorted(policy["drop_after_days"].items()):
        click.echo(f"{'drop ' + safe(kind):<14} {'never' if after is None else f'after {after} days'}")
    if not policy["drop_after_days"]:
        click.echo("dropped        never")
