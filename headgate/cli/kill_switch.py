"""``headgate stop`` and ``headgate start``: the kill switch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe, show_json
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.kernel.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.client.types import KillSwitch, KillSwitchAnswer, StopAnswer, StopScope


@click.command()
@click.option("--agent", metavar="NAME|ID", help="Stop this agent only.")
@click.option("--tool", metavar="NAME", help="Stop this tool only, for every agent.")
@click.option("--reason", required=True, help="Recorded in the audit log. Agents see it.")
@json_option
@runtime_file_option
def stop(agent: str | None, tool: str | None, reason: str, as_json: bool, runtime_file: Path | None) -> None:
    """Kill switch: immediately refuse all calls, including held calls, or the calls of one agent or one tool.

    The instance continues to run. To end an instance, press Ctrl-C in the shell of headgate up.
    """
    _set(agent, tool, reason, is_stopped=True, as_json=as_json, runtime_file=runtime_file)


@click.command()
@click.option("--agent", metavar="NAME|ID", help="Resume this agent.")
@click.option("--tool", metavar="NAME", help="Resume this tool.")
@click.option("--reason", required=True, help="Why calls may resume. Recorded in the audit log.")
@json_option
@runtime_file_option
def start(agent: str | None, tool: str | None, reason: str, as_json: bool, runtime_file: Path | None) -> None:
    """Resume all calls, or the calls of one agent or one tool, after headgate stop."""
    _set(agent, tool, reason, is_stopped=False, as_json=as_json, runtime_file=runtime_file)


def describe(stop: StopAnswer) -> str:
    """One stop as a person reads it."""
    what = "everything" if stop["scope"] == "organization" else f"the {stop['scope']} {stop['target']}"
    return f"{what} is stopped since {stop['at'][:19]} by {stop['stopped_by']}: {stop['reason']}"


def _set(
    agent: str | None, tool: str | None, reason: str, *, is_stopped: bool, as_json: bool, runtime_file: Path | None
) -> None:
    if agent is not None and tool is not None:
        raise click.UsageError("give either --agent or --tool")
    scope: StopScope = "agent" if agent is not None else "tool" if tool is not None else "organization"
    client = ApiClient(find_target(runtime_file))
    body: KillSwitch = {"scope": scope, "target": agent or tool, "reason": reason, "stopped": is_stopped}
    answer = client.send(operations.put_settings_kill_switch, body)
    if as_json:
        show_json(answer)
    else:
        _show(answer)
    if is_stopped and answer["stops"]:
        click.echo(f"Resume with: headgate start{_same(agent, tool)} --reason TEXT", err=True)
    if is_stopped and tool is not None:
        _warn_of_a_name_never_seen(client, tool)


def _show(answer: KillSwitchAnswer) -> None:
    for one in answer["stops"]:
        click.echo(safe(describe(one)))
    if not answer["stops"]:
        click.echo("nothing is stopped")


def _same(agent: str | None, tool: str | None) -> str:
    named = ("--agent", agent) if agent is not None else ("--tool", tool)
    return "" if named[1] is None else f" {named[0]} {safe(named[1])}"


def _warn_of_a_name_never_seen(client: ApiClient, tool: str) -> None:
    """A name with a typing error stops nothing, and looks as if it did."""
    try:
        is_known = bool(client.send(operations.list_audit_events, tool=tool, limit=1)["data"])
    except HeadgateError:
        return  # the stop stands, whatever this person may read
    if not is_known:
        click.echo(
            f"warning: no recorded call of a tool {safe(tool)}. Check the name:"
            " headgate agents show AGENT lists the tools of an agent",
            err=True,
        )
