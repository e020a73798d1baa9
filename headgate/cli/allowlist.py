"""``headgate allowlist``: the destinations of the organization's allowlist, private addresses included.

The API replaces the list as a whole; these commands read it, change one entry and write it back, unless
another administrator has changed it in the meantime.
"""

from typing import Any

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import json_option
from headgate.client import operations
from headgate.kernel.errors import NotFoundError


@click.group()
def allowlist() -> None:
    """Show and change the destinations that agents may reach."""


@allowlist.command()
@json_option
@client_option
def show(client: ApiClient, as_json: bool) -> None:
    """Show the allowlist."""
    document, _ = read_allowlist(client)
    if as_json:
        show_json(document)
    elif not document["destinations"]:
        click.echo("The allowlist is empty: agents cannot reach private addresses.")
    else:
        show_table(
            ("HOST", "PORTS", "PRIVATE", "NOTE"),
            (
                (one["host"], _ports(one), "yes" if one.get("private") else "no", one.get("note", ""))
                for one in document["destinations"]
            ),
        )


@allowlist.command()
@click.argument("host")
@click.option("--port", "ports", type=click.IntRange(1, 65535), multiple=True, help="Repeatable; default: every port.")
@click.option(
    "--private", is_flag=True, help="Allow private addresses of this destination. Headgate refuses them otherwise."
)
@click.option("--note", default="", help="Reason for the entry.")
@json_option
@client_option
def add(client: ApiClient, host: str, ports: tuple[int, ...], private: bool, note: str, as_json: bool) -> None:
    """Add a destination: a name, *.name, an address, or a network (10.0.0.0/8).

    Replaces an entry with the same host and ports. Policies decide again about calls in flight.
    """
    document, tag = read_allowlist(client)
    entry: dict[str, Any] = {"host": host, "ports": sorted(set(ports)), "private": private, "note": note}
    kept = [one for one in document["destinations"] if not _is_same(one, host, ports)]
    changed = client.send(operations.put_settings_allowlist, {**document, "destinations": [*kept, entry]}, if_match=tag)
    if as_json:
        show_json(changed)
        return
    reach = "private addresses included" if private else "public addresses only (--private allows private ones)"
    click.echo(f"added {safe(host)}, ports {_ports(entry)}: {reach}")


@allowlist.command()
@click.argument("host")
@click.option(
    "--port", "ports", type=click.IntRange(1, 65535), multiple=True, help="Remove only the entry with these ports."
)
@yes_option
@json_option
@client_option
def remove(client: ApiClient, host: str, ports: tuple[int, ...], yes: bool, as_json: bool) -> None:
    """Remove all entries of a destination, or only the entry with these ports."""
    document, tag = read_allowlist(client)
    kept = [
        one for one in document["destinations"] if not (_is_same(one, host, ports) if ports else _is_host(one, host))
    ]
    removed = len(document["destinations"]) - len(kept)
    if not removed:
        raise NotFoundError(f"{host} is not on the allowlist: headgate allowlist show lists the entries")
    entries = f"{removed} {'entry' if removed == 1 else 'entries'}"
    confirm(f"Remove {entries} of {safe(host)} from the allowlist?", yes=yes)
    changed = client.send(operations.put_settings_allowlist, {**document, "destinations": kept}, if_match=tag)
    if as_json:
        show_json(changed)
        return
    click.echo(f"{safe(host)}: {entries} removed")


def read_allowlist(client: ApiClient) -> tuple[dict[str, Any], str | None]:
    """The allowlist with its entity tag; empty if no administrator has set it."""
    document: dict[str, Any]
    try:
        document, tag = client.tagged(operations.get_settings_allowlist)
    except NotFoundError:
        document, tag = {}, None
    return {"tools": [], **document, "destinations": document.get("destinations", [])}, tag


def _ports(entry: dict[str, Any]) -> str:
    return ", ".join(str(port) for port in entry.get("ports", [])) or "all"


def _is_host(entry: dict[str, Any], host: str) -> bool:
    return str(entry["host"]).lower() == host.lower()


def _is_same(entry: dict[str, Any], host: str, ports: tuple[int, ...]) -> bool:
    return _is_host(entry, host) and set(entry.get("ports", [])) == set(ports)
