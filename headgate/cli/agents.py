"""``headgate agents``: who may send calls through the gate."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from headgate.cli.agent_name import agent_id_of, ids_of_name
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.tables import show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.kernel.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.client.types import (
        AgentAnswer,
        ChangedAgent,
        LifetimeDays,
        Limits,
        NewAgent,
        UsedModelAnswer,
        UsedTokens,
    )


@click.group()
def agents() -> None:
    """List, create, change, suspend and deactivate agents. AGENT is a name or an id."""


@agents.command("list")
@click.argument("words", nargs=-1)
@click.option("--status", type=click.Choice(["active", "suspended", "deactivated"]))
@click.option("--tag")
@click.option("--owner")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def list_all(
    client: ApiClient,
    words: tuple[str, ...],
    status: str | None,
    tag: str | None,
    owner: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List agents, newest first. With WORDS, only agents whose name, description or id contains all words."""
    answer = client.send(
        operations.list_agents, q=" ".join(words) or None, status=status, tag=tag, owner=owner, limit=limit
    )
    if as_json:
        show_json(answer)
        return
    show_table(
        ("AGENT", "STATUS", "NAME", "OWNER", "LAST SEEN", "CREATED"),
        (
            (
                one["id"],
                "stopped" if one["stopped"] and one["status"] == "active" else one["status"],
                one["name"],
                one["owner"],
                (one["last_seen_at"] or "never")[:19],
                one["created_at"][:19],
            )
            for one in answer["data"]
        ),
    )
    if due := sum(one["keys_due_for_rotation"] for one in answer["data"]):
        click.echo(f"{due} of these keys are due for rotation: headgate keys list --due", err=True)


@agents.command()
@click.argument("name")
@click.option("--description")
@click.option("--owner", help="The person or team responsible for it.")
@click.option("--tag", "tags", multiple=True, help="Repeatable.")
@click.option(
    "--expires",
    type=click.Choice(["30", "60", "90", "180", "365", "never"]),
    help="Lifetime of its key in days, such as 90.",
)
@json_option
@runtime_file_option
def create(
    name: str,
    description: str | None,
    owner: str | None,
    tags: tuple[str, ...],
    expires: str | None,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Create an agent and print its key, once."""
    body: NewAgent = {"name": name, "description": description, "owner": owner, "tags": list(tags)}
    if expires is not None:
        body["expires_in_days"] = cast("LifetimeDays", expires if expires == "never" else int(expires))
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.create_agent, body)
    if as_json:
        show_json(answer)
        return
    click.echo(f"created {answer['id']}. Its key, shown only once:", err=True)
    click.echo(answer["api_key"]["key"])
    with suppress(HeadgateError):  # the agent is there, whatever the list says
        if others := [one for one in ids_of_name(client, name) if one != answer["id"]]:
            same = ", ".join(others)
            click.echo(f"warning: other agents have the same name: {same}. Commands need their ids", err=True)


@agents.command()
@click.argument("agent")
@click.option("--name")
@click.option("--description", help="An empty value removes it.")
@click.option("--owner", help="An empty value removes it.")
@click.option("--tag", "tags", multiple=True, help="Repeatable. Replaces all existing values. Empty: none.")
@click.option(
    "--requests-per-minute", type=click.IntRange(0, 100_000), help="For all of its keys together. 0: the default."
)
@click.option("--open-approvals", type=click.IntRange(0, 10_000), help="0: the default.")
@json_option
@client_option
def update(
    client: ApiClient,
    agent: str,
    name: str | None,
    description: str | None,
    owner: str | None,
    tags: tuple[str, ...],
    requests_per_minute: int | None,
    open_approvals: int | None,
    as_json: bool,
) -> None:
    """Change the description and the limits of an agent. Options that you omit keep their values."""
    agent_id = agent_id_of(client, agent)
    body: ChangedAgent = {} if name is None else {"name": name}
    if description is not None:
        body["description"] = description or None
    if owner is not None:
        body["owner"] = owner or None
    if tags:
        body["tags"] = [tag for tag in tags if tag]
    wanted = {"requests_per_minute": requests_per_minute, "open_approvals": open_approvals}
    changed = {key: value or None for key, value in wanted.items() if value is not None}
    if changed:
        body["limits"] = cast("Limits", {**client.send(operations.get_agent, agent_id)["limits"], **changed})
    answer = client.send(operations.put_agent, agent_id, body)
    if as_json:
        show_json(answer)
        return
    click.echo(f"changed {answer['id']}")


@agents.command()
@click.argument("agent")
@click.option("--days", type=click.IntRange(1, 90), default=7, show_default=True)
@json_option
@client_option
def show(client: ApiClient, agent: str, days: int, as_json: bool) -> None:
    """Show one agent and its recent activity."""
    agent_id = agent_id_of(client, agent)
    found = client.send(operations.get_agent, agent_id)
    figures = client.send(operations.get_agent_figures, agent_id, days=days)
    used = client.send(operations.get_agent_model_usage, agent_id, days=days)
    if as_json:
        show_json({"agent": found, "figures": figures, "model_usage": used})
        return
    show_fields(
        [
            ("agent", found["id"]),
            ("name", found["name"]),
            ("description", found["description"]),
            ("status", found["status"]),
            ("why", found["status_reason"]),
            ("kill switch", found["stopped"]),
            ("owner", found["owner"]),
            ("tags", ", ".join(found["tags"]) or None),
            ("requests a minute", found["limits"]["requests_per_minute"]),
            ("open approvals", found["limits"]["open_approvals"]),
            ("last seen", figures["last_seen_at"]),
            (f"actions in {days} days", f"{figures['actions']}{'+' if figures['actions_is_minimum'] else ''}"),
            *figures["decisions"].items(),
            ("model calls today", used["today"]["calls"]),
            ("tokens today", _estimated(used["today"], str(used["today"]["tokens"]))),
            ("US dollars today", _estimated(used["today"], _dollars(used["today"]["cost_usd"]))),
        ]
    )
    show_table(
        ("TOOL", "OPERATION", "ACTIONS", "LAST"),
        ((one["tool"], one["operation"], one["actions"], one["last_at"][:19]) for one in figures["tools"]),
    )
    if used["models"]:
        show_table(
            ("DAY", "MODEL", "CALLS", "TOKENS IN", "OUT", "US DOLLARS"),
            (
                (
                    one["day"],
                    one["model"],
                    one["calls"],
                    one["tokens_in"],
                    _estimated(one, str(one["tokens_out"])),
                    _dollars(one["cost_usd"]),
                )
                for one in used["models"]
            ),
        )


def _estimated(used: UsedTokens | UsedModelAnswer, shown: str) -> str:
    return f"{shown} (partly estimated)" if used["estimated_calls"] else shown


def _dollars(cost: float | None) -> str:
    return "price not known" if cost is None else f"{cost:.4f}"


@agents.command()
@click.argument("agent")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def activity(client: ApiClient, agent: str, limit: int, as_json: bool) -> None:
    """Show an agent's timeline, newest first: its calls and the changes to it."""
    answer = client.send(operations.list_agent_activity, agent_id_of(client, agent), limit=limit)
    if as_json:
        show_json(answer)
        return
    show_table(("WHEN", "WHAT"), ((one["at"][:19], one["summary"]) for one in answer["data"]))


@agents.command()
@click.argument("agent")
@click.option("--reason")
@json_option
@client_option
def suspend(client: ApiClient, agent: str, reason: str | None, as_json: bool) -> None:
    """Refuse an agent's calls until it is resumed."""
    _show_status(client.send(operations.suspend_agent, agent_id_of(client, agent), {"reason": reason}), as_json=as_json)


@agents.command()
@click.argument("agent")
@click.option("--reason")
@json_option
@client_option
def resume(client: ApiClient, agent: str, reason: str | None, as_json: bool) -> None:
    """Resume a suspended agent with its existing keys."""
    _show_status(client.send(operations.resume_agent, agent_id_of(client, agent), {"reason": reason}), as_json=as_json)


@agents.command()
@click.argument("agent")
@json_option
@client_option
def deactivate(client: ApiClient, agent: str, as_json: bool) -> None:
    """Deactivate an agent permanently: its keys stop working now, its history is kept."""
    _show_status(client.send(operations.delete_agent, agent_id_of(client, agent)), as_json=as_json)


@agents.command("rotate-key")
@click.argument("agent")
@click.option(
    "--overlap", type=click.IntRange(0, 30 * 24 * 3600), default=0, help="Seconds for which the old keys keep working."
)
@json_option
@client_option
def rotate_key(client: ApiClient, agent: str, overlap: int, as_json: bool) -> None:
    """Replace an agent's keys with a new key and print it, once."""
    answer = client.send(operations.rotate_agent_key, agent_id_of(client, agent), {"overlap_seconds": overlap})
    if as_json:
        show_json(answer)
        return
    click.echo(f"{len(answer['replaced'])} replaced. The new key, shown only once:", err=True)
    click.echo(answer["api_key"]["key"])


def _show_status(answer: AgentAnswer, *, as_json: bool) -> None:
    if as_json:
        show_json(answer)
    else:
        click.echo(f"{answer['id']} is {answer['status']}")
