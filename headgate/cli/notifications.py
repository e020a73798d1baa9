"""``headgate notifications``: through which channels people are told what, and how every message went."""

import json
from pathlib import Path
from typing import Any, Final, TextIO

import click

from headgate.cli.api_client import ApiClient, ApiError
from headgate.cli.client_option import client_option
from headgate.cli.deliveries import follow_test, last_attempt
from headgate.cli.named_id import NOTIFICATION, id_of
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.notifications.model import DAYS

_CONDITIONS: Final = ("risk_levels", "tools", "agents", "assignees")


@click.group()
def notifications() -> None:
    """Show, set and test notification channels and routes; list deliveries.

    \b
    headgate notifications set channels.json && headgate notifications test on-call
    """


@notifications.command()
@json_option
@client_option
def show(client: ApiClient, as_json: bool) -> None:
    """Show the channels and routes, without secrets, and warn of events that reach no channel."""
    answer = client.send(operations.get_settings_notifications)
    if as_json:
        show_json(answer)
        return
    _show(answer)


@notifications.command("set")
@click.argument("document", type=click.File("r", encoding="utf-8"))
@json_option
@runtime_file_option
def put(document: TextIO, as_json: bool, runtime_file: Path | None) -> None:
    """Set channels and routes from a JSON DOCUMENT (- reads it from standard input, which keeps secrets out of the
    shell history).

    Secrets that it omits keep their values; everything else is replaced. docs/guides/notifications.md has an example.
    """
    try:
        body = json.load(document)
    except ValueError as error:
        raise ApiError(f"the document is not valid JSON: {error}") from error
    answer = ApiClient(find_target(runtime_file)).send(operations.put_settings_notifications, body)
    if as_json:
        show_json(answer)
        return
    _show(answer)


@notifications.command()
@click.argument("channel")
@click.option(
    "--wait", type=click.IntRange(0, 120), default=20, show_default=True, help="Seconds to wait for the delivery."
)
@json_option
@client_option
def test(client: ApiClient, channel: str, wait: int, as_json: bool) -> None:
    """Send a test message to a channel, enabled or not, and show the result. Exit status 1 if it was not delivered."""
    delivery = client.send(operations.test_settings_notifications, {"channel": channel})
    follow_test(
        lambda delivery_id: client.send(operations.get_notification, delivery_id), delivery, wait, as_json=as_json
    )


@notifications.command()
@click.option("--channel", help="Only deliveries to this channel. nobody: events that reached no channel.")
@click.option("--status", type=click.Choice(["pending", "collected", "delivered", "parked", "cancelled"]))
@click.option("--event", help="Event type, such as approval.requested.")
@click.option("--about", metavar="ID", help="Only messages about this approval or action.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@json_option
@client_option
def deliveries(
    client: ApiClient,
    channel: str | None,
    status: str | None,
    event: str | None,
    about: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List messages, newest first, with the last attempt of each."""
    answer = client.send(
        operations.list_notifications, channel=channel, status=status, event=event, subject_id=about, limit=limit
    )
    if as_json:
        show_json(answer)
    elif not answer["data"]:
        click.echo("none")
    else:
        show_table(
            ("DELIVERY", "TIME", "CHANNEL", "EVENT", "STATUS", "ATTEMPTS", "LAST", "ABOUT"),
            (
                (
                    one["id"],
                    one["created_at"][:19],
                    one["target"],
                    one["event"],
                    one["status"],
                    len(one["attempts"]),
                    last_attempt(one),
                    one["subject_id"],
                )
                for one in answer["data"]
            ),
        )


@notifications.command()
@click.argument("delivery_id")
@json_option
@client_option
def redeliver(client: ApiClient, delivery_id: str, as_json: bool) -> None:
    """Send a message again, with a new link."""
    delivery = client.send(operations.redeliver_notification, id_of(client, NOTIFICATION, delivery_id))
    if as_json:
        show_json(delivery)
        return
    click.echo(f"{safe(delivery['id'])}: {safe(delivery['status'])}")


def _show(answer: dict[str, Any]) -> None:
    if not answer["channels"]:
        click.echo("no channels. Create channels with headgate notifications set DOCUMENT")
    else:
        show_table(
            ("CHANNEL", "KIND", "STATE", "TO", "REQUEST URL"),
            (
                (
                    name,
                    one.get("service") or one["kind"],
                    "on" if one["enabled"] else "off",
                    one.get("recipient") or one.get("channel"),
                    one.get("interactivity_path"),
                )
                for name, one in answer["channels"].items()
            ),
        )
    if answer["routes"]:
        click.echo()
        show_table(
            ("ROUTE TO", "EVENTS", "WHERE"),
            (
                (
                    ", ".join(one["channels"]),
                    ", ".join(one.get("events", [])) or "events that need action",
                    "; ".join(_conditions(one)) or "always",
                )
                for one in answer["routes"]
            ),
        )
    for warning in answer["warnings"]:
        click.echo(f"warning: {safe(warning)}", err=True)


def _conditions(route: dict[str, Any]) -> list[str]:
    said = [f"{name.replace('_', ' ')}: {', '.join(route[name])}" for name in _CONDITIONS if name in route]
    if hours := route.get("between"):
        days = "" if len(hours["days"]) == len(DAYS) else f" on {', '.join(hours['days'])}"
        said.append(f"{hours['from']} to {hours['until']} {hours['time_zone']}{days}")
    return said
