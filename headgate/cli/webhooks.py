"""``headgate webhooks``: the endpoints that are told what happens, and how every message went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.deliveries import follow_test, last_attempt
from headgate.cli.named_id import WEBHOOK, WEBHOOK_DELIVERY, id_of
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.cli.webhook_reach import warn_where_refused
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import EndpointAnswer, NewEndpoint


@click.group()
def webhooks() -> None:
    """Create, list, change, test and delete webhook endpoints; show deliveries.

    \b
    headgate webhooks create https://hooks.example.com/headgate --event execution.failed
    """


@webhooks.command("list")
@json_option
@client_option
def list_all(client: ApiClient, as_json: bool) -> None:
    """List the endpoints, newest first."""
    answer = client.send(operations.list_webhooks, limit=200)
    if as_json:
        show_json(answer)
    elif not answer["data"]:
        click.echo("no endpoints. Create one with headgate webhooks create URL")
    else:
        show_table(
            ("ENDPOINT", "STATE", "URL", "EVENTS"),
            ((one["id"], _state(one), one["url"], ", ".join(one["events"])) for one in answer["data"]),
        )


@webhooks.command()
@click.argument("url")
@click.option(
    "--event",
    "events",
    multiple=True,
    help="Event type, such as execution.failed. Repeatable. Default: approval events.",
)
@click.option("--description", help="Description of the endpoint.")
@json_option
@runtime_file_option
def create(
    url: str, events: tuple[str, ...], description: str | None, as_json: bool, runtime_file: Path | None
) -> None:
    """Create an endpoint and print its signing secret, once."""
    body: NewEndpoint = {"url": url, "description": description}
    if events:
        body["events"] = cast("Any", list(events))  # the API knows the events
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.create_webhook, body)
    if as_json:
        show_json(answer)
    else:
        show_fields([("endpoint", answer["id"]), ("secret", answer["secret"]), ("events", ", ".join(answer["events"]))])
        click.echo(f"to test it: headgate webhooks test {safe(answer['id'])}")
    warn_where_refused(client, url)


@webhooks.command()
@click.argument("endpoint_id")
@click.option(
    "--wait", type=click.IntRange(0, 120), default=20, show_default=True, help="Seconds to wait for the delivery."
)
@json_option
@client_option
def test(client: ApiClient, endpoint_id: str, wait: int, as_json: bool) -> None:
    """Send a test message and show the result. Exit status 1 if it was not delivered."""
    endpoint_id = id_of(client, WEBHOOK, endpoint_id)
    delivery = client.send(operations.test_webhook, endpoint_id)
    follow_test(
        lambda delivery_id: client.send(operations.get_webhook_delivery, endpoint_id, delivery_id),
        delivery,
        wait,
        as_json=as_json,
    )


@webhooks.command()
@click.argument("endpoint_id")
@click.option("--status", type=click.Choice(["pending", "delivered", "parked", "cancelled"]))
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@json_option
@client_option
def deliveries(client: ApiClient, endpoint_id: str, status: str | None, limit: int, as_json: bool) -> None:
    """List the deliveries of an endpoint, newest first, with the last attempt of each."""
    endpoint_id = id_of(client, WEBHOOK, endpoint_id)
    answer = client.send(operations.list_webhook_deliveries, endpoint_id, status=status, limit=limit)
    if as_json:
        show_json(answer)
    elif not answer["data"]:
        click.echo("none")
    else:
        show_table(
            ("DELIVERY", "EVENT", "STATUS", "ATTEMPTS", "LAST", "ABOUT"),
            (
                (one["id"], one["event"], one["status"], len(one["attempts"]), last_attempt(one), one["subject_id"])
                for one in answer["data"]
            ),
        )


@webhooks.command()
@click.argument("endpoint_id")
@click.argument("delivery_id")
@json_option
@client_option
def redeliver(client: ApiClient, endpoint_id: str, delivery_id: str, as_json: bool) -> None:
    """Send a message again, with the same id."""
    endpoint_id = id_of(client, WEBHOOK, endpoint_id)
    delivery_id = id_of(client, WEBHOOK_DELIVERY, delivery_id, endpoint_id)
    delivery = client.send(operations.redeliver_webhook_delivery, endpoint_id, delivery_id)
    if as_json:
        show_json(delivery)
        return
    click.echo(f"{safe(delivery['id'])}: {safe(delivery['status'])}")


@webhooks.command()
@click.argument("endpoint_id")
@json_option
@runtime_file_option
def enable(endpoint_id: str, as_json: bool, runtime_file: Path | None) -> None:
    """Enable an endpoint. It does not receive events from the time when it was disabled."""
    _switch(endpoint_id, runtime_file, as_json=as_json, is_enabled=True)


@webhooks.command()
@click.argument("endpoint_id")
@json_option
@runtime_file_option
def disable(endpoint_id: str, as_json: bool, runtime_file: Path | None) -> None:
    """Disable an endpoint: it receives nothing until it is enabled."""
    _switch(endpoint_id, runtime_file, as_json=as_json, is_enabled=False)


@webhooks.command()
@click.argument("endpoint_id")
@yes_option
@json_option
@client_option
def delete(client: ApiClient, endpoint_id: str, yes: bool, as_json: bool) -> None:
    """Delete an endpoint, its pending deliveries and its secrets."""
    endpoint_id = id_of(client, WEBHOOK, endpoint_id)
    confirm(f"Delete the endpoint {safe(endpoint_id)}, its pending deliveries and its secrets?", yes=yes)
    answer = client.send(operations.delete_webhook, endpoint_id)
    if as_json:
        show_json(answer)
        return
    click.echo(f"removed {safe(endpoint_id)}")


@webhooks.command("rotate-secret")
@click.argument("endpoint_id")
@click.option(
    "--overlap",
    type=click.IntRange(0, 30 * 24 * 3600),
    default=24 * 3600,
    show_default=True,
    help="Seconds for which the old secret also signs. 0: it stops immediately.",
)
@json_option
@client_option
def rotate_secret(client: ApiClient, endpoint_id: str, overlap: int, as_json: bool) -> None:
    """Replace the signing secret of an endpoint and print the new secret, once."""
    endpoint_id = id_of(client, WEBHOOK, endpoint_id)
    answer = client.send(operations.rotate_webhook_secret, endpoint_id, {"overlap_seconds": overlap})
    if as_json:
        show_json(answer)
        return
    until = answer["previous_secret_until"]
    click.echo(
        "the old secret no longer signs" if until is None else f"the old secret signs until {until[:19]}", err=True
    )
    click.echo(answer["secret"])


def _switch(endpoint_id: str, runtime_file: Path | None, *, as_json: bool, is_enabled: bool) -> None:
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.update_webhook, id_of(client, WEBHOOK, endpoint_id), {"enabled": is_enabled})
    if as_json:
        show_json(answer)
        return
    click.echo(f"{safe(answer['id'])} is {safe(_state(answer))}")


def _state(endpoint: EndpointAnswer) -> str:
    if not endpoint["enabled"]:
        return f"disabled: {endpoint['disabled_reason']}" if endpoint["disabled_reason"] else "disabled"
    return f"failing since {endpoint['failing_since'][:19]}" if endpoint["failing_since"] else "enabled"
