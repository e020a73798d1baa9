"""``headgate policy replay``: what a changed policy would have decided of recorded actions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from headgate.cli.agent_name import agent_id_if_named
from headgate.cli.api_client import ApiClient, ApiError
from headgate.cli.policy_name import policy_id_of
from headgate.cli.tables import show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import ReplayBody


@click.command()
@click.argument("policy", required=False)
@click.option("--file", type=click.File("r", encoding="utf-8"), help="A draft; - for standard input.")
@click.option("--priority", type=click.IntRange(0, 1000))
@click.option("--disabled", is_flag=True, help="Evaluate as if the policy were disabled.")
@click.option("--from", "start_date", help="ISO 8601. Default: one day before --to.")
@click.option("--to", "end_date", help="ISO 8601. Default: now.")
@click.option("--agent", metavar="NAME|ID", help="Only actions of this agent.")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=100_000, show_default=True)
@click.option("--examples", type=click.IntRange(0, 20), default=3, show_default=True)
@click.option("--detectors", is_flag=True, help="Also evaluate content policies that need no language model.")
@click.option("--keep", is_flag=True, help="Store the report in the organization.")
@json_option
@runtime_file_option
def replay(
    policy: str | None,
    file: TextIO | None,
    agent: str | None,
    disabled: bool,
    as_json: bool,
    runtime_file: Path | None,
    **fields: Any,
) -> None:
    """Evaluate recorded actions again with the current POLICY, with --file instead of it, or with a new draft.

    Interrupt to cancel.
    """
    if policy is None and file is None:
        raise click.UsageError("Give a POLICY to replay, or a draft with --file.")
    client = ApiClient(find_target(runtime_file))
    fields["agent_id"] = agent_id_if_named(client, agent)
    body = {name: value for name, value in fields.items() if value is not None} | {"enabled": not disabled}
    if policy is not None:
        body["policy_id"] = policy_id_of(client, policy)
    if file is not None:
        body["rego_policy"] = file.read()
    report: dict[str, Any] = {}
    for line in client.lines(operations.replay_policies, cast("ReplayBody", body)):
        found = json.loads(line)
        if found["type"] == "progress":
            _show_progress(f"\r{found['done']} of {found['total']}")
        elif found["type"] == "error":
            _show_progress("\n")
            raise ApiError(found["message"])
        else:
            report = found
    _show_progress("\n")
    if as_json:
        show_json(report)
        return
    _show(report)


def _show_progress(text: str) -> None:
    """Where somebody sees it: a log would get one line of all of them."""
    if sys.stderr.isatty():
        click.echo(text, err=True, nl=False)


def _show(report: dict[str, Any]) -> None:
    humans = report["humans"]
    show_fields(
        [
            ("replayed", report["replayed"]),
            ("changed", report["changed"]),
            ("left out", report["left_out"] or None),
            ("policies failed on", report["failed"] or None),
            ("reviewers decided", f"{humans['decided']}: it agrees with {humans['agrees']}, holds {humans['asks']},"
             f" contradicts {humans['contradicts']}"),
            ("content policies", ", ".join(one["name"] for one in report["nlp"]["asked"]) or None),
            ("not evaluated", ", ".join(f"{one['name']} ({one['why']})" for one in report["nlp"]["left_out"]) or None),
            ("stored as", report.get("id")),
        ]
    )  # fmt: skip
    if report["by_operation"]:
        click.echo()
        show_table(
            ("TOOL", "OPERATION", "CHANGE", "ACTIONS"),
            ((one["tool"], one["operation"], one["change"], one["actions"]) for one in report["by_operation"]),
        )
    if report["examples"]:
        click.echo()
        show_table(
            ("ACTION", "TOOL", "OPERATION", "CHANGE", "WHY"),
            (
                (one["action_id"], one["tool"], one["operation"], one["change"], one["reason"])
                for one in report["examples"]
            ),
        )
