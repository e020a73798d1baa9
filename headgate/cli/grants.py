"""``headgate grants``: standing permissions, seen, given and taken back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from headgate.cli.actor_text import People
from headgate.cli.agent_name import agent_id_if_named, agent_id_of
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.grant_options import bounds_body, bounds_options, conditions_body
from headgate.cli.named_id import GRANT, id_of
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import GrantAnswer, GrantDetailAnswer, NewGrant


@click.group()
def grants() -> None:
    """Approvals in advance: list, show, create, revoke."""


@grants.command("list")
@click.option(
    "--status",
    type=click.Choice(["active", "exhausted", "expired", "revoked", "all"]),
    default="active",
    show_default=True,
)
@click.option("--agent", metavar="NAME|ID", help="Only this agent.")
@click.option("--tool", help="Only this tool.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def list_all(client: ApiClient, status: str, agent: str | None, tool: str | None, limit: int, as_json: bool) -> None:
    """List grants, newest first."""
    agent_id = agent_id_if_named(client, agent)
    status_or_all = None if status == "all" else status
    answer = client.send(operations.list_grants, status=status_or_all, agent_id=agent_id, tool=tool, limit=limit)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("none")
        return
    show_table(
        ("GRANT", "STATUS", "AGENT", "CALL", "USES", "SUM", "UNTIL", "WHERE"),
        (
            (
                one["id"],
                one["status"],
                one["agent_name"] or one["agent_id"],
                f"{one['tool']}.{one['operation']}",
                f"{one['uses']}/{one['max_uses']}",
                _sum(one),
                one["expires_at"][:19],
                where(one),
            )
            for one in answer["data"]
        ),
    )


@grants.command()
@click.argument("grant_id")
@json_option
@client_option
def show(client: ApiClient, grant_id: str, as_json: bool) -> None:
    """Show one grant with its newest uses."""
    answer = client.send(operations.get_grant, id_of(client, GRANT, grant_id))
    people = People(client)
    if as_json:
        show_json(answer)
        return
    show_fields(
        [
            ("grant", answer["id"]),
            ("status", answer["status"]),
            ("agent", " ".join(filter(None, (answer["agent_name"], answer["agent_id"])))),
            ("call", f"{answer['tool']}.{answer['operation']}"),
            ("where", where(answer)),
            ("uses", f"{answer['uses']} of {answer['max_uses']}"),
            ("sum", _sum(answer)),
            ("until", answer["expires_at"]),
            ("given by", ", ".join(people.text(one["user_id"], one["email"]) for one in answer["granters"])),
            ("reason", answer["reason"]),
            ("approval", answer["approval_id"]),
            ("policies", ", ".join(answer["policy_ids"])),
            ("revoked", _revoked(answer, people)),
            ("why", answer["revoke_reason"]),
        ]
    )
    for use in answer["newest_uses"]:
        given_back = " (released: nothing was sent)" if use["given_back_at"] else ""
        click.echo(f"  {safe(use['used_at'])}  {safe(use['action_id'])}{given_back}")


@grants.command()
@click.option("--agent", metavar="NAME|ID", required=True, help="The agent of the calls.")
@click.option("--tool", required=True)
@click.option("--operation", required=True)
@bounds_options
@click.option("--any-params", is_flag=True, help="Any params, instead of --where.")
@json_option
@runtime_file_option
def create(
    agent: str,
    tool: str,
    operation: str,
    uses: int,
    duration: str,
    reason: str,
    conditions: tuple[str, ...],
    sum_bound: str | None,
    any_params: bool,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Approve one agent's calls of one operation in advance."""
    if bool(conditions) == any_params:
        raise click.UsageError("Limit the calls with --where, or grant all calls of this operation with --any-params.")
    bounds = bounds_body(uses, duration, reason, sum_bound)
    client = ApiClient(find_target(runtime_file))
    body = {
        **bounds,
        "agent_id": agent_id_of(client, agent),
        "tool": tool,
        "operation": operation,
        "conditions": conditions_body(conditions),
    }
    answer = client.send(operations.create_grant, cast("NewGrant", body))
    if as_json:
        show_json(answer)
        return
    click.echo(said(answer))


@grants.command()
@click.argument("grant_id")
@click.option("--reason", required=True, help="Recorded in the audit log.")
@json_option
@client_option
def revoke(client: ApiClient, grant_id: str, reason: str, as_json: bool) -> None:
    """Revoke a grant: it no longer approves calls."""
    answer = client.send(operations.delete_grant, id_of(client, GRANT, grant_id), reason=reason)
    if as_json:
        show_json(answer)
        return
    click.echo(f"{safe(answer['id'])} is {safe(answer['status'])}")


def _sum(grant: GrantAnswer | GrantDetailAnswer) -> str | None:
    bound = grant["sum"]
    return None if bound is None else f"{bound['used']:.15g} of {bound['at_most']:.15g} ({bound['param']})"


def _revoked(grant: GrantDetailAnswer, people: People) -> str | None:
    if grant["revoked_at"] is None:
        return None
    by = grant["revoked_by"]
    return grant["revoked_at"] if by is None else f"{grant['revoked_at']} by {people.text(by)}"


def said(grant: GrantAnswer | GrantDetailAnswer) -> str:
    return f"{safe(grant['id'])} is in force: {grant['max_uses']} uses until {safe(grant['expires_at'])}"


def where(grant: GrantAnswer | GrantDetailAnswer) -> str:
    """The conditions as they are given to ``--where``."""
    if grant["conditions"] is None:
        return "only the approved call"
    return "; ".join(_condition(one) for one in grant["conditions"]) or "any params"


def _condition(condition: Mapping[str, Any]) -> str:
    signs = {"equals": "=", "prefix": "^=", "matches": "~=", "at_least": ">=", "at_most": "<=", "one_of": " one of "}
    return ", ".join(
        f"{condition['param']}{sign}{condition[name]}" for name, sign in signs.items() if name in condition
    )
