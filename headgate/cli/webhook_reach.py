"""Whether an endpoint's address is one that the organization's rules refuse, said when it is made."""

import json
from ipaddress import ip_address
from typing import Final

import click

from headgate.cli.allowlist import read_allowlist
from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe
from headgate.kernel.errors import HeadgateError
from headgate.organizations.addresses import METADATA_MEANING, AddressKind, kind_of
from headgate.organizations.destinations import Allowlist, parse_allowlist
from headgate.outgoing.clear_text import rules_for
from headgate.outgoing.target import parse_target

_LOOPBACK: Final = "127.0.0.1"


def warn_where_refused(client: ApiClient, url: str) -> None:
    """After the endpoint was made and its secret shown: it stands, whatever this person may read."""
    try:
        allowlist, _ = read_allowlist(client)
        reason = refused_because(url, parse_allowlist(json.dumps(allowlist), None))
    except HeadgateError:
        return
    if reason is not None:
        click.echo(f"warning: messages cannot be delivered: {safe(reason)}", err=True)


def refused_because(url: str, allowlist: Allowlist) -> str | None:
    """None: it is permitted, or a name, whose address only the instance knows. ``localhost`` is no such name
    (RFC 6761, section 6.3). Raises ValidationError for what is no address of a web server."""
    target = parse_target(url)
    host = target.host.lower().rstrip(".")
    is_local = host == "localhost" or host.endswith(".localhost")
    try:
        address = ip_address(_LOOPBACK if is_local else host)
    except ValueError:
        return None
    if rules_for(url, allowlist).permits(target.host, address, target.port):
        return None
    kind = kind_of(address)
    if kind is AddressKind.PUBLIC:
        return "http:// is allowed for private addresses only, because messages are not encrypted"
    what = f"{target.host} port {target.port} is a {kind.value.replace('_', '-')} address"
    if kind is AddressKind.METADATA:
        return f"{what}: {METADATA_MEANING}"
    entry = f"{target.host} --port {target.port} --private"
    return f"{what} that is not on the allowlist. Add it with headgate allowlist add {entry}"
