"""``headgate integrations``: trackers, chats and source hosts, as an organization has set them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TextIO

import click

from headgate.cli.actor_text import People
from headgate.cli.api_client import ApiClient, ApiError
from headgate.cli.client_option import client_option
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.client.call import Call
from headgate.integrations.model import Integration

_name: Final = click.argument("name", type=click.Choice([one.value for one in Integration]), metavar="INTEGRATION")


@click.group()
def integrations() -> None:
    """Show, set and test integrations; list incoming messages. INTEGRATION is a name as shown by list.

    \b
    headgate integrations set jira settings.json && headgate integrations test jira
    """


@integrations.command("list")
@json_option
@client_option
def list_all(client: ApiClient, as_json: bool) -> None:
    """List all integrations with their state, and who set them and when."""
    found = {one.value: client.send(operation("get", one)) for one in Integration}
    if as_json:
        show_json(found)
        return
    people = People(client)
    show_table(
        ("INTEGRATION", "STATE", "VERSION", "CHANGED", "BY"),
        (
            (
                name,
                _state(one),
                str(one["version"]),
                one["updated_at"] or "",
                people.text(one["updated_by"]) if one["updated_by"] else "",
            )
            for name, one in found.items()
        ),
    )


@integrations.command()
@_name
@click.option("--json", "as_json", is_flag=True, expose_value=False, help="No effect: the output is always JSON.")
@client_option
def show(client: ApiClient, name: str) -> None:
    """Print the settings, without secrets."""
    show_json(client.send(operation("get", name)))


@integrations.command("set")
@_name
@click.argument("document", type=click.File("r", encoding="utf-8"))
@json_option
@runtime_file_option
def put(name: str, document: TextIO, as_json: bool, runtime_file: Path | None) -> None:
    """Set an integration from a JSON DOCUMENT (- reads it from standard input, which keeps secrets out of the shell
    history).

    docs/guides/integrations.md has an example for each.
    """
    try:
        body = json.load(document)
    except ValueError as error:
        raise ApiError(f"the document is not valid JSON: {error}") from error
    answer = ApiClient(find_target(runtime_file)).send(operation("put", name), body)
    if as_json:
        show_json(answer)
        return
    show_fields([("version", str(answer["version"])), ("webhooks go to", safe(str(answer["webhook_path"])))])
    click.echo(f"to test the connection: headgate integrations test {name}")


@integrations.command()
@_name
@json_option
@client_option
def test(client: ApiClient, name: str, as_json: bool) -> None:
    """Ask the platform for the account name. Exit status 1 if the test fails."""
    answer = client.send(operation("test", name))
    if not answer["ok"]:
        status = "" if answer["status_code"] is None else f" {answer['status_code']}"
        raise ApiError(f"{answer['error']}{status}: {safe(answer['message'] or 'no message')}")
    if as_json:
        show_json(answer)
        return
    click.echo(f"reached as {safe(answer['account'])} in {answer['latency_ms']} ms")


@integrations.command()
@_name
@json_option
@client_option
def receipts(client: ApiClient, name: str, as_json: bool) -> None:
    """List incoming messages and their outcomes, newest first."""
    answer = client.send(operation("get", name, "_receipts"), limit=200)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("none")
        return
    show_table(
        ("RECEIVED", "OUTCOME", "APPROVAL", "ACCOUNT", "WHY"),
        (
            (one["received_at"], one["outcome"], one["approval_id"] or "", one["account"] or "", one["message"] or "")
            for one in answer["data"]
        ),
    )


def operation(verb: str, name: str, of_what: str = "") -> Callable[..., Call[dict[str, Any]]]:
    """The operation of one integration: each has the same ones."""
    found: Callable[..., Call[dict[str, Any]]]
    found = getattr(operations, f"{verb}_settings_{name.replace('-', '_')}{of_what}")
    return found


def _state(answer: dict[str, object]) -> str:
    return "on" if answer["enabled"] else "off" if answer["configured"] else "not set"
