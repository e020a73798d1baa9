"""``headgate approvals watch``: what happens to approvals, as it happens.

It follows the API's server-sent events; where the connection ends it comes back to its place, so that nothing is
missed and nothing is shown twice.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from headgate.cli.agent_name import agent_id_of
from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.kernel.errors import RateLimitedError, UnavailableError

_EVENT_ID: Final = re.compile("[0-9]{1,18}")
_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 30.0


def _event_id(_context: click.Context, _parameter: click.Parameter, since: str | None) -> str | None:
    """The API would name its header, which nobody has typed."""
    if since and _EVENT_ID.fullmatch(since) is None:
        raise click.BadParameter("an event's id is a number, as headgate approvals watch --json shows it")
    return since


@click.command()
@click.option("--event", "wanted", multiple=True, help="Only this, such as approval.requested; may be repeated.")
@click.option("--agent", metavar="NAME|ID", help="Only this agent's.")
@click.option(
    "--since", callback=_event_id, help="Go on behind this event's id, as an earlier watch showed it with --json."
)
@click.option("--count", type=click.IntRange(1), help="End after so many events.")
@json_option
@runtime_file_option
def watch(
    wanted: tuple[str, ...],
    agent: str | None,
    since: str | None,
    count: int | None,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Follow what happens to approvals, until you stop it. With --json one object a line."""
    agent_id = None if agent is None else agent_id_of(ApiClient(find_target(runtime_file)), agent)
    shown = 0
    for seq, event in _events(runtime_file, since):
        if (wanted and event["event"] not in wanted) or (agent_id is not None and event["agent_id"] != agent_id):
            continue
        click.echo(json.dumps({"id": seq, **event}) if as_json else _line(event))
        shown += 1
        if shown == count:
            return


def _events(runtime_file: Path | None, since: str | None) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """For ever. Raises UnavailableError only where it was never there."""
    pause, was_there = _PAUSE_SECONDS, False
    while True:
        try:
            # Found anew each time: an instance that was started again has another token, and perhaps another port.
            client = ApiClient(find_target(runtime_file))
            for name, value in client.fields(operations.stream_approval_events, last_event_id=since):
                pause, was_there = _PAUSE_SECONDS, True
                if name == "id":
                    since = value
                elif name == "data":
                    yield since, json.loads(value)
        except (UnavailableError, RateLimitedError):
            if not was_there:
                raise
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def _line(event: dict[str, Any]) -> str:
    actor, data = event["actor"], event["data"]
    by = actor.get("name") or actor.get("id") or ""
    said = data.get("reason") or data.get("comment")
    what = event["event"].removeprefix("approval.").ljust(10)
    return "  ".join(safe(part) for part in (event["at"][:19], what, event["approval_id"], by, said) if part)
