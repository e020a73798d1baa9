"""``headgate approvals``: what waits for a human, and the decision."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from headgate.cli.actor_text import People
from headgate.cli.agent_name import agent_id_if_named
from headgate.cli.api_client import ApiClient
from headgate.cli.approval_decisions import approve, deny, grant
from headgate.cli.approval_id import approval_id_of
from headgate.cli.approval_routing import escalate, reassign
from headgate.cli.approval_text import call_text, stated_risk, time_left
from headgate.cli.approval_watch import watch
from headgate.cli.client_option import client_option
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import json_option
from headgate.client import operations
from headgate.kernel.clock import system_clock

if TYPE_CHECKING:
    from headgate.client.types import ApprovalDetailAnswer

EXIT_STATUS: Final = {"approved": 0, "denied": 3, "expired": 4, "pending": 5}
"""Of ``show --wait``, for scripts; 1 and 2 are what they are for every command."""
_LONGEST_WAIT_SECONDS: Final = 30


@click.group()
def approvals() -> None:
    """List, show, decide, reassign and escalate approval requests."""


@approvals.command("list")
@click.option(
    "--status",
    type=click.Choice(["pending", "approved", "denied", "expired", "all"]),
    default="pending",
    show_default=True,
)
@click.option("--agent", metavar="NAME|ID", help="Only this agent.")
@click.option("--risk", "risk_level", type=click.Choice(["low", "medium", "high", "critical"]))
@click.option("--tool", help="Only this tool.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@json_option
@client_option
def list_all(
    client: ApiClient,
    status: str,
    agent: str | None,
    risk_level: str | None,
    tool: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List approvals, newest first."""
    answer = client.send(
        operations.list_approvals,
        status=None if status == "all" else status,
        agent_id=agent_id_if_named(client, agent),
        risk_level=risk_level,
        tool=tool,
        limit=limit,
    )
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo(
            "no pending approval requests (for decided requests: --status all)" if status == "pending" else "none"
        )
        return
    now = system_clock()
    show_table(
        ("APPROVAL", "STATUS", "RISK", "LEFT", "SAME", "AGENT", "CALL", "WHY"),
        (
            (
                one["id"],
                one["status"],
                stated_risk(one) or "",
                time_left(one["held_until"] or one["expires_at"], now) if one["status"] == "pending" else "",
                one["identical_pending"] if one["identical_pending"] > 1 else "",
                one["agent_name"] or one["agent_id"],
                call_text(one["action"]),
                one["decision"]["reason"],
            )
            for one in answer["data"]
        ),
    )


@approvals.command()
@click.argument("approval_id")
@click.option(
    "--wait", "wait_seconds", type=click.IntRange(0), help="Wait for the decision. The exit status reports it."
)
@json_option
@client_option
def show(client: ApiClient, approval_id: str, wait_seconds: int | None, as_json: bool) -> None:
    """Show one approval request with the complete call.

    With --wait the exit status is 0 if it is approved, 3 if denied, 4 if expired, 5 if still pending.
    """
    answer = _decided_within(client, approval_id_of(client, approval_id), wait_seconds or 0)
    if as_json:
        show_json(answer)
    else:
        _show(answer, People(client))
    if wait_seconds is not None:
        sys.exit(EXIT_STATUS[answer["status"]])


def _decided_within(client: ApiClient, approval_id: str, seconds: int) -> ApprovalDetailAnswer:
    """The approval as soon as it is decided, or when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        left = max(0, math.ceil(deadline - time.monotonic()))
        answer = client.send(operations.get_approval, approval_id, wait=min(left, _LONGEST_WAIT_SECONDS))
        if answer["status"] != "pending" or time.monotonic() >= deadline:
            return answer


def _show(answer: ApprovalDetailAnswer, people: People) -> None:
    context: Mapping[str, Any] = answer["context"] or {}
    if context:
        click.echo(safe(context["summary"]))
    show_fields(
        [
            ("approval", answer["id"]),
            ("status", answer["status"]),
            ("action", answer["action_id"]),
            ("agent", answer["agent_id"]),
            ("call", call_text(answer["action"])),
            ("why", answer["decision"]["reason"]),
            ("risk", stated_risk(answer) or "not stated"),
            ("policy", answer["decision"]["policy_id"]),
            ("approvals", f"{answer['current_approvals']} of {answer['required_approvals']}"),
            *(("from", whom) for one in answer["requirements"] if (whom := asked(one))),
            ("repeats", answer["repeats"]),
            ("expires", answer["expires_at"]),
            *((entry["event"], told(entry, people)) for entry in answer["history"] if entry["event"] != "requested"),
            ("proposed", _proposed(answer)),
        ]
    )
    for one in context.get("on_behalf_of", ()):
        click.echo(f"on behalf of {safe(one['action_id'])} {safe(one['tool'])}.{safe(one['operation'])}")
    if context:
        similar = context["similar"]
        counted = ", ".join(f"{similar[name]} {name}" for name in ("approved", "denied", "expired") if similar[name])
        click.echo(f"similar before: {counted or 'none'}")
        if context["hidden_characters"]:
            click.echo(f"hidden characters, shown as escapes below: {safe(', '.join(context['hidden_characters']))}")
    show_json(context["request"] if context else answer["action"]["params"])


for command in (approve, deny, grant, reassign, escalate, watch):
    approvals.add_command(command)


def asked(requirement: Mapping[str, Any]) -> str:
    """Whose approvals one policy wants; empty: anybody's who may approve."""
    groups = [f"{count} of group:{name}" for name, count in requirement["roles"].items()]
    only = ", ".join(requirement["assignees"])
    kept_apart = ", ".join(one.replace("_", " ") for one in requirement["separation_of_duties"])
    parts = [
        ", ".join(groups),
        f"{'any other of' if groups else 'only'} {only}" if only else "",
        f"not the {kept_apart}" if kept_apart else "",
    ]
    return "; ".join(part for part in parts if part)


def told(entry: Mapping[str, Any], people: People) -> str:
    """What happened to an approval after it was asked for: when, by whom and in whose place, and what they said."""
    by, absent = entry["by"], entry["on_behalf_of"]
    who = "" if by is None else f" by {people.text(by['id'], by['email'])}"
    who += "" if absent is None else f" on behalf of {people.text(absent)}"
    said = f": {entry['reason']}" if entry["reason"] else ""
    return f"{entry['at']}{who}{said}"


def _proposed(answer: ApprovalDetailAnswer) -> str | None:
    """What the agent asked for, where somebody approved something else."""
    return None if answer["edit"] is None else json.dumps(answer["action"]["params"])
