"""``headgate traffic rules`` and ``capture``: whose calls are kept for review, and how much of them."""

from collections.abc import Sequence
from typing import Any, Final

import click

from headgate.cli.agent_name import agent_id_of
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.tables import show_json, show_table
from headgate.cli.target import json_option
from headgate.client.operations import get_settings_captures, put_settings_captures

_LISTS: Final = ("agents", "tools", "operations", "hosts")


@click.command()
@json_option
@client_option
def rules(client: ApiClient, as_json: bool) -> None:
    """Show the capture rules. The first rule that matches a call applies. Without a match, nothing is captured."""
    _show(client.send(get_settings_captures), as_json=as_json)


@click.command()
@click.argument("level", type=click.Choice(["off", "heads", "bodies"]))
@click.option("--agent", "agents", metavar="NAME|ID", multiple=True, help="Only calls of this agent. Repeatable.")
@click.option("--tool", "tools", multiple=True, help="Only calls of this tool. Repeatable.")
@click.option("--operation", "operations", multiple=True, help="Only calls of this operation. Repeatable.")
@click.option("--host", "hosts", multiple=True, help="Only calls to this host, or *.name. Repeatable.")
@json_option
@client_option
def capture(
    client: ApiClient,
    level: str,
    agents: tuple[str, ...],
    tools: tuple[str, ...],
    operations: tuple[str, ...],
    hosts: tuple[str, ...],
    as_json: bool,
) -> None:
    """Set what is captured of calls from now on: nothing (off), heads, or bodies too.

    A rule for some calls goes before the other rules, a rule for all calls goes last. A rule for the same calls is
    replaced.
    """
    before = client.send(get_settings_captures)
    rule = {
        "agents": [agent_id_of(client, one) for one in agents],
        "tools": list(tools),
        "operations": list(operations),
        "hosts": list(hosts),
        "capture": level,
    }
    after = with_rule(before["rules"], rule)
    _show(client.send(put_settings_captures, {**before, "rules": after}), as_json=as_json)


def with_rule(rules: Sequence[dict[str, Any]], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules with this one in the place where it has its effect and takes none from the others."""
    kept = [one for one in rules if any(set(one[name]) != set(rule[name]) for name in _LISTS)]
    return [rule, *kept] if any(rule[name] for name in _LISTS) else [*kept, rule]


def _show(answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(answer)
    elif not answer["rules"]:
        click.echo("no capture rules. To capture all calls: headgate traffic capture bodies")
    else:
        names = ("AGENTS", "TOOLS", "OPERATIONS", "HOSTS")
        rows = [[", ".join(one[name]) or "all" for name in _LISTS] + [one["capture"]] for one in answer["rules"]]
        show_table((*names, "KEPT"), rows)
