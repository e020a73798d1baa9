"""``headgate traffic``: what agents really sent, and what they were answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from headgate.cli.agent_name import agent_id_if_named, agent_id_of, agent_names_of
from headgate.cli.api_client import ApiClient
from headgate.cli.captures import capture, rules
from headgate.cli.client_option import client_option
from headgate.cli.named_id import ACTION, EXCHANGE, id_if_given, id_of
from headgate.cli.tables import safe, show_fields, show_json, show_json_line, show_line, show_table
from headgate.cli.target import find_target, json_option, result_option, runtime_file_option
from headgate.cli.traffic_notes import note
from headgate.cli.traffic_tail import Follower
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import ExchangeAnswer, TrafficPageAnswer, WholeExchangeAnswer

_TAIL_SECONDS: Final = 1.0
_COLUMNS: Final = ("EXCHANGE", "TIME", "DECISION", "STATUS", "METHOD", "WHERE", "SENT", "GOT")
_FILTERS: Final = (
    ("--action", "action", "Only exchanges of this action (id, or a part of it)."),
    ("--tool", "tool", "Only calls of this tool."),
    ("--operation", "operation", "Only calls of this operation."),
    ("--host", "host", "Only calls to this host."),
    ("--method", "method", "Only calls with this method."),
    ("--status", "status", "Only responses with this status."),
    ("--decision", "decision", "allow, approved, deny, approval_pending or approval_denied."),
    ("--from", "start_date", "Only exchanges at or after this time (ISO 8601)."),
    ("--to", "end_date", "Only exchanges up to this time (ISO 8601)."),
    ("--filter", "filter", "A mitmproxy filter, such as '~m POST & ~bs error'."),
)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The filters that every list of traffic takes."""
    for option, name, meaning in reversed(_FILTERS):
        command = click.option(option, name, help=meaning)(command)
    return click.option("--agent", metavar="NAME|ID", help="Only calls of this agent.")(command)


@click.group()
def traffic() -> None:
    """Captured traffic: rules, list, show, follow, note, export."""


traffic.add_command(capture)
traffic.add_command(rules)
traffic.add_command(note)


@traffic.command("list")
@filter_options
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 200))
@json_option
@runtime_file_option
def list_all(agent: str | None, limit: int, as_json: bool, runtime_file: Path | None, **filters: Any) -> None:
    """List exchanges, newest first."""
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.list_exchanges, limit=limit, **_whole(client, agent, filters))
    if as_json:
        show_json(answer)
        return
    if answer["data"]:
        show_table(_COLUMNS, (_row(one) for one in answer["data"]))
    else:
        click.echo("no exchanges. headgate traffic rules shows what is captured")
    _show_losses(answer)


@traffic.command()
@click.argument("exchange_id")
@click.option("--view", default="auto", show_default=True, help="Format of bodies: auto, json, raw, none, …")
@json_option
@client_option
def show(client: ApiClient, exchange_id: str, view: str, as_json: bool) -> None:
    """Show one exchange with heads and bodies. The audit log records that you read it."""
    answer = client.send(operations.get_exchange, id_of(client, EXCHANGE, exchange_id), view=view)
    if as_json:
        show_json(answer)
        return
    names = agent_names_of(client, [answer["agent_id"]])
    show_fields(
        [
            ("exchange", answer["id"]),
            ("action", answer["action_id"]),
            ("agent", " ".join(filter(None, (names.get(answer["agent_id"]), answer["agent_id"])))),
            ("call", f"{answer['tool']}.{answer['operation']}"),
            ("decision", answer["decision"]),
            ("at", answer["created_at"]),
            ("took", None if answer["duration_ms"] is None else f"{answer['duration_ms']} ms"),
            ("error", answer["error"]),
            *(("masked", f"{where}: {_masked(found)}") for where, found in answer["masking"].items()),
            *(("not captured", f"{where}: {why}") for where, why in answer["omitted"].items()),
        ]
    )
    click.echo(f"\n{safe(answer['method'])} {safe(_address(answer))} {safe(answer['request']['version'])}")
    _show_message(answer["request"])
    if answer["response"] is not None:
        click.echo(
            f"\n{safe(answer['response']['version'])} {safe(answer['status'])} {safe(answer['reason'] or '')}".rstrip()
        )
        _show_message(answer["response"])


@traffic.command()
@filter_options
@click.option("--json", "as_json", is_flag=True, help="Print each exchange as one line of JSON.")
@runtime_file_option
def tail(agent: str | None, as_json: bool, runtime_file: Path | None, **filters: Any) -> None:
    """Follow captured exchanges until you interrupt."""
    client = ApiClient(find_target(runtime_file), is_patient=True)
    follower = Follower(client, _whole(client, agent, filters))
    lost: dict[str, int] = {}
    while True:
        found, answer = follower.look()
        for one in found:
            if as_json:
                show_json_line(one)
            else:
                show_line(_row(one))
        counted = {one["cause"]: one["exchanges"] for one in answer["not_captured"]}
        if lost and counted != lost:
            _show_losses(answer)
        lost = counted
        time.sleep(_TAIL_SECONDS)


@traffic.command()
@filter_options
@click.option("--format", "as_format", default="har", show_default=True, type=click.Choice(["har", "flow", "curl"]))
@click.option("--output", type=click.Path(path_type=Path), help="Output file. Default: standard output.")
@click.option("--id", "ids", multiple=True, help="Only these exchanges. Repeatable.")
@click.option("--limit", default=200, show_default=True, type=click.IntRange(1, 200))
@result_option
@runtime_file_option
def export(
    as_format: str,
    output: Path | None,
    ids: tuple[str, ...],
    agent: str | None,
    limit: int,
    as_json: bool,
    runtime_file: Path | None,
    **filters: Any,
) -> None:
    """Write exchanges as HAR, as a mitmproxy flow file (mitmweb -r FILE), or as curl commands.

    Masked values stay masked. The audit log records the export.
    """
    if as_json and output is None:
        raise click.UsageError("--json requires --output")
    client = ApiClient(find_target(runtime_file))
    content = client.send(
        operations.export_exchanges,
        format=as_format,
        limit=limit,
        ids=",".join(id_of(client, EXCHANGE, one) for one in ids) or None,
        **_whole(client, agent, filters),
    )
    if output is None:
        click.echo(content, nl=False)
        return
    output.write_bytes(content)
    if as_json:
        show_json({"file": str(output), "bytes": len(content)})
        return
    click.echo(f"{safe(output)}: {len(content)} bytes")


@traffic.command()
@click.argument("left")
@click.argument("right")
@json_option
@client_option
def diff(client: ApiClient, left: str, right: str, as_json: bool) -> None:
    """Show the differences between two exchanges."""
    left, right = (id_of(client, EXCHANGE, one) for one in (left, right))
    answer = client.send(operations.compare_exchanges, left=left, right=right)
    if as_json:
        show_json(answer)
        return
    for name in ("request", "response"):
        found = answer[name]
        if found["head"] is not None:
            click.echo(f"- {safe(found['head'][0])}\n+ {safe(found['head'][1])}")
        for header in found["headers"]:
            click.echo(
                f"  {safe(header['name'])}: {safe(', '.join(header['left']))} -> {safe(', '.join(header['right']))}"
            )
        for line in (found["body"] or "").splitlines():
            click.echo(safe(line))


@traffic.command()
@click.argument("agent")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 200))
@json_option
@client_option
def timeline(client: ApiClient, agent: str, limit: int, as_json: bool) -> None:
    """Show the exchanges of AGENT, a name or an id, in order, with the pauses between them."""
    answer = client.send(operations.get_traffic_timeline, agent_id=agent_id_of(client, agent), limit=limit)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("no exchanges. headgate traffic rules shows what is captured")
    for step in answer["data"]:
        exchange, lost = step["exchange"], step["not_captured"]
        if lost is not None:
            show_line((step["at"][:19], f"not captured: {lost['exchanges']} ({lost['cause']})"))
        if exchange is not None:
            pause = "" if step["pause_seconds"] is None else f"+{step['pause_seconds']:.3f} s"
            show_line((pause.rjust(12), *_row(exchange)[1:]))


def _whole(client: ApiClient, agent: str | None, filters: Mapping[str, Any]) -> dict[str, Any]:
    """The filters as the API takes them: with whole ids."""
    rest = {name: value for name, value in filters.items() if name != "action"}
    action_id = id_if_given(client, ACTION, filters["action"])
    return {"agent_id": agent_id_if_named(client, agent), "action_id": action_id, **rest}


def _row(one: ExchangeAnswer) -> tuple[object, ...]:
    return (
        one["id"],
        one["created_at"][:19],
        one["decision"],
        "-" if one["status"] is None else one["status"],
        one["method"],
        _address(one),
        one["request_bytes"],
        one["response_bytes"],
    )


def _address(one: ExchangeAnswer | WholeExchangeAnswer) -> str:
    target = "(erased)" if one["target"] is None else one["target"]
    return f"{one['scheme']}://{one['host']}:{one['port']}{target}"


def _masked(found: Mapping[str, Any]) -> str:
    kinds = ", ".join(f"{kind} {count}" for kind, count in found["kinds"].items())
    return f"{found['places']} {'place' if found['places'] == 1 else 'places'}" + (f" ({kinds})" if kinds else "")


def _show_message(message: Mapping[str, Any]) -> None:
    for name, value in message["headers"]:
        click.echo(f"{safe(name)}: {safe(value)}")
    body = message["body"]
    text = body["pretty"] if body["pretty"] is not None else body["text"]
    if body["text"] is None:
        click.echo(f"\n({body['size_bytes']} bytes, not captured)" if body["size_bytes"] else "")
        return
    click.echo("")
    for line in text.splitlines():
        click.echo(safe(line))
    if not body["is_whole"]:
        click.echo(f"(the beginning of {body['size_bytes']} bytes)")


def _show_losses(answer: TrafficPageAnswer) -> None:
    for one in answer["not_captured"]:
        click.echo(
            f"not captured: {one['exchanges']} ({safe(one['cause'])}), from {one['since'][:19]} to {one['until'][:19]}",
            err=True,
        )
