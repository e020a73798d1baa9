"""``headgate policy dry-run|simulate``: what would be decided of a call that nobody makes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from headgate.cli.agent_name import agent_id_of
from headgate.cli.api_client import ApiClient
from headgate.cli.policy_file import complaints_about
from headgate.cli.policy_name import policy_id_of
from headgate.cli.policy_warnings import show_warnings
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import DryRunBody, SimulationBody


def _call_options(command: Any) -> Any:
    """How a call is named, the same for both commands."""
    for option in (
        click.option("--trace", is_flag=True, help="Show every rule's value."),
        click.option("--judges/--no-judges", default=True, help="Call language models (default: yes)."),
        click.option("--agent", metavar="NAME|ID", help="The agent of the call. Default: an unknown agent."),
        click.option("--body", type=click.File("r", encoding="utf-8"), help="The request body, with --url."),
        click.option("--header", "headers", multiple=True, help="NAME: VALUE, with --url. Repeatable."),
        click.option("--method", default="GET", show_default=True, help="With --url."),
        click.option("--url", help="A request through the proxy, instead of an action."),
        click.option("--params", default="{}", help="The action's params, as JSON."),
        click.option("--operation", help="The action's operation."),
        click.option("--tool", help="The action's tool."),
    ):
        command = option(command)
    return command


def _call(
    tool: str | None,
    operation: str | None,
    params: str,
    url: str | None,
    method: str,
    headers: tuple[str, ...],
    body: TextIO | None,
    trace: bool,
    judges: bool,
) -> dict[str, object]:
    call: dict[str, object] = {"trace": trace, "judges": judges}
    if url is not None:
        split = (header.partition(":") for header in headers)
        http: dict[str, object] = {"method": method, "url": url, "headers": {one: two.strip() for one, _, two in split}}
        return call | {"http": http | ({} if body is None else {"body": body.read()})}
    if tool is None or operation is None:
        raise click.UsageError("give an action with --tool and --operation, or a request with --url")
    try:
        document = json.loads(params)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--params") from error
    return call | {"action": {"tool": tool, "operation": operation, "params": document}}


def _whose(client: ApiClient, agent: str | None) -> dict[str, object]:
    return {} if agent is None else {"agent_id": agent_id_of(client, agent)}


@click.command("dry-run")
@_call_options
@json_option
@runtime_file_option
def dry_run(agent: str | None, as_json: bool, runtime_file: Path | None, **call: Any) -> None:
    """Show what all policies together, and each policy alone, would decide about a call."""
    body = _call(**call)
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.dry_run, cast("DryRunBody", body | _whose(client, agent)))
    if as_json:
        show_json(answer)
        return
    _show_decision(answer)
    click.echo()
    show_table(
        ("POLICY", "PRIORITY", "MODE", "ASKED", "SAYS", "WHY"),
        (
            (
                one["name"],
                one["priority"],
                one["mode"],
                "yes" if one["asked"] else "no",
                one["decision"] or "nothing",
                one["reason"],
            )
            for one in answer["policies"]
        ),
    )
    _show_nlp(answer["nlp"])
    for one in answer["policies"]:
        _show_trace(one["name"], one["trace"])


@click.command()
@click.argument("policy")
@click.option(
    "--file", type=click.File("r", encoding="utf-8"), help="A draft to evaluate instead; - for standard input."
)
@click.option("--version", type=click.IntRange(1), help="A version to evaluate instead.")
@_call_options
@json_option
@runtime_file_option
def simulate(
    policy: str,
    file: TextIO | None,
    version: int | None,
    agent: str | None,
    as_json: bool,
    runtime_file: Path | None,
    **call: Any,
) -> None:
    """Show what one policy, one of its versions, or a draft would decide about a call."""
    body = _call(**call)
    if file is not None:
        body["rego_policy"] = file.read()
    if version is not None:
        body["version"] = version
    client = ApiClient(find_target(runtime_file))
    body |= _whose(client, agent)
    policy_id = policy_id_of(client, policy)
    with complaints_about(file):
        answer = client.send(operations.simulate_policy, policy_id, cast("SimulationBody", body))
    if as_json:
        show_json(answer)
        return
    show_warnings(answer, file=file)
    show_fields([("says", answer["said"] or "nothing"), ("rules", ", ".join(answer["rules"]))])
    _show_decision(answer)
    overall = answer["overall"]
    show_fields([("overall", overall["decision"]), ("because", overall["reason"])])
    _show_nlp(answer["nlp"])
    _show_trace(policy, answer["trace"])


def _show_decision(answer: Mapping[str, Any]) -> None:
    show_fields(
        [
            ("decision", answer["decision"]),
            ("reason", answer["reason"]),
            ("risk", answer["risk_level"]),
            ("policy", answer["policy_name"]),
            ("took", f"{answer['evaluation_time_ms']} ms"),
        ]
    )


def _show_nlp(words: Sequence[Mapping[str, Any]]) -> None:
    if not words:
        return
    click.echo()
    show_table(
        ("CONTENT POLICY", "MODEL", "SAYS", "SCORE", "WHY"),
        (
            (
                one["name"],
                f"{one['provider']} {one['model']}",
                (one["decision"] or "not waited for") if one["asked"] else "skipped",
                "" if one["score"] is None else one["score"],
                one["reasoning"],
            )
            for one in words
        ),
    )


def _show_trace(name: str, trace: Sequence[Mapping[str, Any]] | None) -> None:
    if not trace:
        return
    click.echo(f"\n{safe(name)}")
    for one in trace:
        shown = json.dumps(one["value"]) if one["defined"] else one.get("error", "undefined")
        click.echo(f"  {safe(one['rule'])} = {safe(shown)}")
