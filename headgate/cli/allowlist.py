"""``headgate allowlist``: which destinations the organization names, private addresses among them.

The API replaces the list as a whole; these commands read it, change one entry and write it back, unless somebody
else has changed it meanwhile.
"""

from pathlib import Path

import click

from headgate.cli.api_client import ApiClient, Document
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.kernel.errors import NotFoundError

_PATH = "/admin/settings/allowlist"


@click.group()
def allowlist() -> None:
    """Show and change which private addresses agents may reach."""


@allowlist.command()
@json_option
@runtime_file_option
def show(as_json: bool, runtime_file: Path | None) -> None:
    """Show the destinations on the list."""
    document, _ = read_allowlist(ApiClient(find_target(runtime_file)))
    if as_json:
        show_json(document)
    elif not document["destinations"]:
        click.echo("the list is empty: no private address may be reached")
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
@click.option("--port", "ports", type=click.IntRange(1, 65535), multiple=True, help="Repeatable; none: every port.")
@click.option("--private", is_flag=True, help="Also where its address is private: what the guard refuses otherwise.")
@click.option("--note", default="", help="Why it is there.")
@runtime_file_option
def add(host: str, ports: tuple[int, ...], private: bool, note: str, runtime_file: Path | None) -> None:
    """Put a destination on the list: a name, *.name, an address, or a network (10.0.0.0/8).

    An entry of the same host and ports is replaced. Calls in flight are decided again.
    """
    client = ApiClient(find_target(runtime_file))
    document, tag = read_allowlist(client)
    entry: Document = {"host": host, "ports": sorted(set(ports)), "private": private, "note": note}
    kept = [one for one in document["destinations"] if not _is_same(one, host, ports)]
    client.put(_PATH, {**document, "destinations": [*kept, entry]}, if_match=tag)
    click.echo(
        f"{safe(host)}, ports {_ports(entry)}: on the list" + ("" if private else ", its private addresses are not")
    )


@allowlist.command()
@click.argument("host")
@click.option("--port", "ports", type=click.IntRange(1, 65535), multiple=True, help="Only the entry of these ports.")
@runtime_file_option
def remove(host: str, ports: tuple[int, ...], runtime_file: Path | None) -> None:
    """Take a destination off the list: every entry of this host, or the one of these ports."""
    client = ApiClient(find_target(runtime_file))
    document, tag = read_allowlist(client)
    kept = [
        one for one in document["destinations"] if not (_is_same(one, host, ports) if ports else _is_host(one, host))
    ]
    removed = len(document["destinations"]) - len(kept)
    if not removed:
        raise NotFoundError(f"{host} is not on the list: headgate allowlist show")
    client.put(_PATH, {**document, "destinations": kept}, if_match=tag)
    click.echo(f"{safe(host)}: {removed} {'entry' if removed == 1 else 'entries'} taken off the list")


def read_allowlist(client: ApiClient) -> tuple[Document, str]:
    """The list as it is, with its entity tag; empty where it was never set."""
    document: Document
    try:
        document, tag = client.get_tagged(_PATH)
    except NotFoundError:
        document, tag = {}, "*"
    return {"tools": [], **document, "destinations": document.get("destinations", [])}, tag


def _ports(entry: Document) -> str:
    return ", ".join(str(port) for port in entry.get("ports", [])) or "all"


def _is_host(entry: Document, host: str) -> bool:
    return str(entry["host"]).lower() == host.lower()


def _is_same(entry: Document, host: str, ports: tuple[int, ...]) -> bool:
    return _is_host(entry, host) and set(entry.get("ports", [])) == set(ports)
