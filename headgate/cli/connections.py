"""``headgate connections``: credentials that agents use and never see."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import parse_qsl, urlsplit

import click

from headgate.cli.agent_name import agent_id_of
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.named_id import CONNECTION, id_of
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import ConnectionAnswer, NewConnection, OAuthReturn, OAuthStart

_KINDS: Final = ("api_key", "bearer", "basic", "client_credentials", "aws_sigv4", "mtls")
_RETURN: Final = "http://127.0.0.1:8478/connections/callback"


@click.group()
def connections() -> None:
    """List, create, test and delete connections to other platforms."""


@connections.command("list")
@click.option("--platform")
@click.option("--status", type=click.Choice(["pending", "active", "broken"]))
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def list_all(client: ApiClient, platform: str | None, status: str | None, limit: int, as_json: bool) -> None:
    """List connections, newest first."""
    answer = client.send(operations.list_connections, platform=platform, status=status, limit=limit)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("no connections. Create one with headgate connections add NAME")
        return
    show_table(
        ("CONNECTION", "NAME", "PLATFORM", "KIND", "STATUS", "HOSTS", "EXPIRES"),
        (
            (
                one["id"],
                one["name"],
                one["platform"],
                one["kind"],
                one["status"],
                " ".join(one["hosts"]),
                (one["expires_at"] or "")[:16],
            )
            for one in answer["data"]
        ),
    )


@connections.command()
@click.argument("connection")
@json_option
@client_option
def show(client: ApiClient, connection: str, as_json: bool) -> None:
    """Show the state of one connection, by name or id, and its use in the last 30 days. Secrets are not shown."""
    connection_id = id_of(client, CONNECTION, connection)
    one = client.send(operations.get_connection, connection_id)
    used = client.send(operations.get_connection_usage, connection_id)
    if as_json:
        show_json({"connection": one, "usage": used})
        return
    place = one["place"]
    show_fields(
        [
            ("connection", one["id"]),
            ("placeholder", one["placeholder"]),
            ("platform", f"{one['platform']} ({one['kind']})"),
            ("status", one["status"]),
            ("why", one["status_reason"]),
            ("hosts", " ".join(one["hosts"])),
            ("place", f"{place['in']} {place['name']}"),
            ("agents", " ".join(one["agents"]) or "none yet"),
            ("tools", " ".join(one["tools"]) or "none"),
            ("only with its placeholder", "yes" if one["needs_placeholder"] else "no"),
            ("account", one["account"]),
            ("scopes", " ".join(one["scopes"]) or None),
            ("expires", one["expires_at"]),
            ("last checked", one["checked_at"]),
            ("uses in 30 days", f"{used['uses']}, {used['rejected']} answered with 401"),
            ("last used", used["last_used_at"]),
        ]
    )


@connections.command()
@click.argument("name")
@click.option("--kind", type=click.Choice(_KINDS), help="The kind of an existing credential.")
@click.option(
    "--platform", help="The platform for OAuth consent: github, gitlab, google, slack, atlassian, linear, notion."
)
@click.option("--host", "hosts", multiple=True, help="host or host:port. The credential is sent only to these hosts.")
@click.option("--agent", "agents", metavar="NAME|ID", multiple=True, help="An agent that may use it. '*': all agents.")
@click.option("--tool", "tools", multiple=True, help="A tool whose calls use it. Default: all tools.")
@click.option(
    "--in", "location", type=click.Choice(["header", "query", "body"]), help="Position of an API key in the call."
)
@click.option("--field", help="The header, query parameter or body member with the API key.")
@click.option("--prefix", default="", help="Prefix of the API key.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="region, service, client_id …")
@click.option("--needs-placeholder", is_flag=True, help="Only calls with its placeholder use it.")
@click.option("--client-id", help="With --platform: the client ID of your application.")
@click.option("--scope", "scopes", multiple=True, help="With --platform: a scope to request.")
@click.option(
    "--redirect-uri", default=_RETURN, show_default=True, help="With --platform: the registered redirect URI."
)
@json_option
@runtime_file_option
def add(
    name: str,
    kind: str | None,
    platform: str | None,
    hosts: tuple[str, ...],
    agents: tuple[str, ...],
    tools: tuple[str, ...],
    location: str | None,
    field: str | None,
    prefix: str,
    settings: tuple[str, ...],
    needs_placeholder: bool,
    client_id: str | None,
    scopes: tuple[str, ...],
    redirect_uri: str,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Create a connection. Asks for secrets, or reads them from standard input as lines of NAME=VALUE. Secrets are not
    options, because other users of the machine can see the command line."""
    if (kind is None) == (platform is None):
        raise click.UsageError("give --kind for an existing credential, or --platform for OAuth consent")
    if kind is not None and not hosts:
        raise click.UsageError("--host is required. The credential is sent only to this host")
    client = ApiClient(find_target(runtime_file))
    body: dict[str, object] = {
        "name": name,
        "agents": [one if one == "*" else agent_id_of(client, one) for one in agents],
        "tools": list(tools) or ["*"],
        "needs_placeholder": needs_placeholder,
    }
    if platform is not None and as_json:
        raise click.UsageError("--json cannot be combined with --platform: OAuth consent is interactive")
    if platform is not None:
        _consent(client, body, platform, client_id, scopes, hosts, redirect_uri)
        return
    body |= {
        "kind": kind,
        "hosts": list(hosts),
        "settings": _pairs(settings, "--setting"),
        "credentials": _secrets(kind or ""),
    }
    if field is not None or location is not None:
        body["place"] = {"in": location or "header", "name": field or "X-API-Key", "prefix": prefix}
    answer = client.send(operations.create_connection, cast("NewConnection", body))
    if as_json:
        show_json(answer)
        return
    _tell(answer)


def _consent(
    client: ApiClient,
    body: dict[str, object],
    platform: str,
    client_id: str | None,
    scopes: tuple[str, ...],
    hosts: tuple[str, ...],
    redirect_uri: str,
) -> None:
    if client_id is None:
        raise click.UsageError("--client-id is required: the platform issues it to your application")
    body |= {"platform": platform, "client_id": client_id, "redirect_uri": redirect_uri, **_secrets("oauth2")}
    if scopes:
        body["scopes"] = list(scopes)
    if hosts:
        body["hosts"] = list(hosts)
    begun = client.send(operations.initiate_connections_oauth, cast("OAuthStart", body))
    click.echo(f"Requested scopes: {' '.join(begun['scopes']) or 'the scopes of the application'}", err=True)
    click.echo("Open this address and give consent:", err=True)
    click.echo(begun["authorization_url"])
    returned = click.prompt("Then paste the final address of the browser", err=True)
    found = dict(parse_qsl(urlsplit(returned).query))
    wanted = ("state", "code", "error", "error_description", "iss")
    given = {one: found[one] for one in wanted if one in found}
    _tell(client.send(operations.callback_connections_oauth, cast("OAuthReturn", given)))


@connections.command()
@click.argument("connection")
@json_option
@client_option
def test(client: ApiClient, connection: str, as_json: bool) -> None:
    """Test the credential with a read-only request to the platform. Exit status 1 if the platform refuses it."""
    answer = client.send(operations.test_connection, id_of(client, CONNECTION, connection))
    if as_json:
        show_json(answer)
    else:
        click.echo(f"{answer['outcome']}: {answer['message']}")
    if answer["outcome"] == "refused":
        raise click.exceptions.Exit(1)


@connections.command()
@click.argument("connection")
@yes_option
@json_option
@client_option
def delete(client: ApiClient, connection: str, yes: bool, as_json: bool) -> None:
    """Delete a connection and its secret. Calls no longer carry the credential."""
    connection_id = id_of(client, CONNECTION, connection)
    confirm(f"Delete the connection {safe(connection)} and its secret?", yes=yes)
    answer = client.send(operations.delete_connection, connection_id)
    if as_json:
        show_json(answer)
        return
    click.echo(f"removed {connection}")


_ASKED: Final = {
    "api_key": ("secret",),
    "bearer": ("secret",),
    "basic": ("user", "password"),
    "client_credentials": ("client_secret",),
    "aws_sigv4": ("access_key_id", "secret_access_key"),
    "mtls": ("certificate", "private_key"),
    "oauth2": ("client_secret",),
}


def _secrets(kind: str) -> dict[str, str]:
    """A value that begins with @ names a file."""
    if sys.stdin.isatty():
        given = {one: click.prompt(one, hide_input=one != "user", err=True) for one in _ASKED[kind]}
    else:
        lines = tuple(line for line in sys.stdin.read().splitlines() if line.strip())
        given = _pairs(lines, f"each line of standard input ({', '.join(_ASKED[kind])})")
    return {
        name: Path(value[1:]).read_text("utf-8") if value.startswith("@") else value for name, value in given.items()
    }


def _pairs(texts: tuple[str, ...], where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"{where}: expected NAME=VALUE")
        found[name.strip()] = value
    return found


def _tell(answer: ConnectionAnswer) -> None:
    click.echo(
        f"{answer['id']} is {answer['status']}" + (f": {answer['status_reason']}" if answer["status_reason"] else "")
    )
    click.echo(f"in place of the secret, agents send {answer['placeholder']} or nothing", err=True)
    if not answer["agents"]:
        click.echo("no agent may use it yet. Add agents with PATCH, or create it with --agent", err=True)
