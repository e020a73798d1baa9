"""``headgate approvals watch``: open requests decided by key, or what happens to approvals, as it happens.

It follows the API's server-sent events; where the connection ends it comes back to its place, so that nothing is
missed and nothing is shown twice.
"""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from headgate.cli.actor_text import actor_text
from headgate.cli.agent_name import agent_id_of
from headgate.cli.api_client import ApiClient
from headgate.cli.approval_desk import Desk
from headgate.cli.approval_text import call_text, stated_risk, time_left
from headgate.cli.keyboard import open_keyboard
from headgate.cli.tables import safe
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import HeadgateError, RateLimitedError, UnavailableError

_EVENT_ID: Final = re.compile("[0-9]{1,18}")
_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 30.0


def _event_id(_context: click.Context, _parameter: click.Parameter, since: str | None) -> str | None:
    """The API would name its header, which nobody has typed."""
    if since and _EVENT_ID.fullmatch(since) is None:
        raise click.BadParameter("an event id is a number, as shown by headgate approvals watch --json")
    return since


@click.command()
@click.option("--event", "wanted", multiple=True, help="Only this event type, such as approval.requested. Repeatable.")
@click.option("--agent", metavar="NAME|ID", help="Only approval requests of this agent.")
@click.option(
    "--since",
    callback=_event_id,
    help="Continue after the event with this id, as shown by an earlier watch with --json.",
)
@click.option("--count", type=click.IntRange(1), help="Exit after this number of events.")
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
    """Decide open requests by key, or print events.

    On a terminal it shows one request at a time, with the time left. Without a terminal, or with --event, --since,
    --count or --json, it prints approval events until you stop it.

    Keys: a approves, d denies and asks for the reason, s skips, q quits. With --json, one object per line.
    """
    client = ApiClient(find_target(runtime_file))
    agent_id = None if agent is None else agent_id_of(client, agent)
    if not (wanted or since or count or as_json) and sys.stdin.isatty() and sys.stdout.isatty():
        _decide_by_key(client, runtime_file, agent_id)
        return
    shown = 0
    for seq, event in _events(runtime_file, since):
        if (wanted and event["event"] not in wanted) or (agent_id is not None and event["agent_id"] != agent_id):
            continue
        click.echo(json.dumps({"id": seq, **event}) if as_json else _line(client, event))
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


def _line(client: ApiClient, event: dict[str, Any]) -> str:
    data, what = event["data"], event["event"].removeprefix("approval.")
    parts = [event["at"][:19], what.ljust(10), event["approval_id"], actor_text(event["actor"])]
    if what == "requested":
        asked = client.send(operations.get_approval, event["approval_id"])
        until = asked["held_until"] or asked["expires_at"]
        parts += [
            stated_risk(asked),
            f"{time_left(until, system_clock())} left",
            call_text(asked["action"]),
            asked["decision"]["reason"],
        ]
    else:
        parts.append(data.get("reason") or data.get("comment"))
    return "  ".join(safe(part) for part in parts if part)


def _decide_by_key(client: ApiClient, runtime_file: Path | None, agent_id: str | None) -> None:
    """Events come in beside, and say only that something has changed."""
    happened = threading.Event()

    def listen() -> None:
        # Where events cannot be had, the list is still asked for after each decision.
        with suppress(HeadgateError):
            for _ in _events(runtime_file, None):
                happened.set()

    def changed() -> bool:
        was_set = happened.is_set()
        happened.clear()
        return was_set

    threading.Thread(target=listen, daemon=True).start()
    with open_keyboard() as keyboard, suppress(KeyboardInterrupt):
        Desk(client, keyboard, system_clock, changed, agent_id).sit()
