"""``headgate audit list``, ``show`` and ``export-events``: the record as people read it, and take it away."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from headgate.cli import terminal
from headgate.cli.actor_text import actor_text
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.named_id import ACTION, EVENT, id_if_given, id_of
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, result_option, runtime_file_option
from headgate.client import operations
from headgate.protocols.shown_call import shown_authority

if TYPE_CHECKING:
    from headgate.client.types import EventPages

_SEARCHED_PAGES: Final = 20
"""Below the rate limit of administrators' routes: 40,000 events at a time."""
_SEARCHED: Final = ("search", "actor", "hash")
"""Filters for which a page looks through a stretch of the log only."""
_FILTERS: Final = (
    ("--from", "start_date", "Only events at or after this time (ISO 8601; a date means the whole day)."),
    ("--to", "end_date", "Only events up to this time."),
    ("--type", "event_type", "Event type, such as approval.denied."),
    ("--action", "action_id", "Only this action (id, or a part of it)."),
    ("--agent", "agent", "Only this agent (name or id)."),
    ("--risk", "risk_level", "Only actions with this risk: low, medium, high, critical."),
    ("--tool", "tool", "Only actions of this tool."),
    ("--operation", "operation", "Only actions of this operation."),
    ("--decision", "decision", "Only actions with this decision: allow, deny, require_approval."),
    ("--approval", "approval_id", "Only events of the action of this approval."),
    ("--number", "seq", "Only the event with this number in the chain."),
    ("--hash", "hash", "Only the event with this hash."),
    ("--actor", "actor", "Only events with this text in the actor: name, email address, id (case-insensitive)."),
    ("--search", "search", "Only events with this text in the actor or the data (case-insensitive)."),
)


def filter_options[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """The filters of ``GET /admin/audit``, as options."""
    for option, name, text in reversed(_FILTERS):
        command = click.option(option, name, help=text)(command)
    return command


@click.command("list")
@filter_options
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@click.option("--cursor", help="Continue after an earlier page.")
@json_option
@runtime_file_option
def list_events(limit: int, cursor: str | None, as_json: bool, runtime_file: Path | None, **filters: Any) -> None:
    """List audit events, newest first."""
    client = ApiClient(find_target(runtime_file))
    filters["action_id"] = id_if_given(client, ACTION, filters["action_id"])
    answer = client.send(operations.list_audit_events, **filters, limit=limit, cursor=cursor)
    if as_json:
        show_json(answer)
        return
    is_search = any(filters[name] is not None for name in _SEARCHED)
    if is_search:
        answer = _searched(client, filters, limit, answer)
    pagination = answer["pagination"]
    if answer["data"]:
        show_table(
            ("WHEN", "EVENT", "DECISION", "WHO", "CALL", "ACTION", "ID"),
            (
                (
                    one["created_at"] or "?",
                    one["event_type"],
                    decided(one["data"]),
                    actor_text(one["actor"]),
                    found_canaries(one["data"]) or one["call"] or refused_calls(one["data"]),
                    # A terminal has no room for it; headgate audit show ID has it.
                    (one["action_id"] or "-") if terminal.width() is None else "",
                    one["id"],
                )
                for one in answer["data"]
            ),
        )
    for one in answer["data"]:
        if one["problem"] is not None:
            click.echo(f"{safe(one['id'])} differs from the sealed event: {safe(one['problem'])}", err=True)
    if not is_search:
        more = "or more " if pagination.get("total_is_minimum") else ""
        click.echo(f"{pagination['total']} {more}found", err=True)
    else:
        end = "at the end of the log" if pagination["next_cursor"] is None else "and the search continues"
        click.echo(f"{len(answer['data'])} found, {end}", err=True)
    if pagination["next_cursor"] is not None:
        click.echo(f"continue with: --cursor {safe(pagination['next_cursor'])}", err=True)


def _searched(client: ApiClient, filters: Mapping[str, Any], limit: int, answer: EventPages) -> EventPages:
    """A page of a search looks through a stretch of the record only: further pages, until there is enough to show."""
    found = answer["data"]
    for _ in range(_SEARCHED_PAGES - 1):
        cursor = answer["pagination"]["next_cursor"]
        if cursor is None or len(found) >= limit:
            break
        answer = client.send(operations.list_audit_events, **filters, limit=limit - len(found), cursor=cursor)
        found = found + answer["data"]
    return {**answer, "data": found}


@click.command("show")
@click.argument("event_id")
@json_option
@client_option
def show_event(client: ApiClient, event_id: str, as_json: bool) -> None:
    """Show one event, its hashed text, and its place in the signed tree."""
    event = client.send(operations.get_audit_event, id_of(client, EVENT, event_id))
    if as_json:
        show_json(event)
        return
    proof = event["proof"]
    proven = event["proof_missing"] if proof is None else f"event {proof['index']} of a tree of {proof['tree_size']}"
    show_fields(
        (
            ("event", event["id"]),
            ("type", event["event_type"]),
            ("who", actor_text(event["actor"])),
            ("address", None if event["actor"] is None else event["actor"]["address"]),
            ("call", event["call"]),
            ("action", event["action_id"]),
            ("agent", event["agent_id"]),
            ("happened", event["created_at"]),
            ("sealed", event["sealed_at"]),
            ("number", event["seq"]),
            ("previous", event["neighbours"]["previous"]),
            ("next", event["neighbours"]["next"]),
            ("hash", event["hash"]),
            ("hashed text", event["hash_input"]["header"]),
            ("proof", proven),
            ("not as sealed", event["problem"]),
        )
    )
    show_json(event["data"])


@click.command("export-events")
@filter_options
@click.option("--format", "file_format", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Output file. Default: standard output."
)
@result_option
@runtime_file_option
def export_events(
    file_format: str, output: Path | None, as_json: bool, runtime_file: Path | None, **filters: Any
) -> None:
    """Export all matching events, newest first, as JSON Lines or CSV. The audit log records the export."""
    if as_json and output is None:
        raise click.UsageError("--json requires --output")
    client = ApiClient(find_target(runtime_file))
    filters["action_id"] = id_if_given(client, ACTION, filters["action_id"])
    pieces = client.pieces(operations.get_audit_export, **filters, format=file_format)
    if output is None:
        _copy(pieces, sys.stdout.buffer)
        return
    # Under its name only when it is whole.
    draft = output.with_name(f".{output.name}.part")
    try:
        with draft.open("wb") as file:
            lines = _copy(pieces, file)
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)
    if as_json:
        show_json({"file": str(output), "lines": lines})
        return
    click.echo(f"{safe(output)}: {lines} lines")


def _copy(pieces: Iterable[bytes], file: BinaryIO) -> int:
    lines = 0
    for piece in pieces:
        file.write(piece)
        lines += piece.count(b"\n")
    return lines


def found_canaries(data: Mapping[str, Any]) -> str | None:
    """Of canary.found: each token, and where it stood. The decision itself keeps its line."""
    found = data.get("canaries")
    if not isinstance(found, list) or "decision" in data:
        return None
    return "; ".join(f"{one.get('name')} in {one.get('place')}" for one in found if isinstance(one, dict)) or None


def refused_calls(data: Mapping[str, Any]) -> str:
    """The first of the calls that were refused before they were actions, and how many more there were."""
    calls, count = data.get("calls"), data.get("count")
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], dict):
        return "-"
    first = calls[0]
    where = shown_authority(first.get("scheme"), first.get("host"), first.get("port"))
    text = f"{first.get('method')} {where}{first.get('path', '')}"
    return text if not isinstance(count, int) or count < 2 else f"{text} and {count - 1} more"


def decided(data: Mapping[str, Any]) -> str:
    """What an event decided, or what somebody voted for; the other events' types say what there is to say."""
    said = data.get("decision", data.get("vote"))
    return said if isinstance(said, str) else "-"
