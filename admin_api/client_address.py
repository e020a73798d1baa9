"""Where a request comes from: for the record, and as whose quota an open route counts against.

It is the address that is connected, or what a reverse proxy that is trusted says of it (``forwarded``).
"""

import ipaddress
from typing import Final

from starlette.types import Scope

_NOBODY: Final = "unknown"
_ADDRESS_CHARACTERS: Final = 64
_IPV6_SENDER_BITS: Final = 64  # what one subscriber is given at least (RFC 6177, section 2)


def client_address(scope: Scope) -> str | None:
    """As the record names it; None where the server does not say."""
    client = scope.get("client")
    return None if client is None else str(client[0])[:_ADDRESS_CHARACTERS]


def address_subject(scope: Scope) -> str:
    """An IPv4 address, or the /64 of an IPv6 one. Whoever is behind the same address shares it."""
    client = scope.get("client")
    if client is None:
        return _NOBODY
    try:
        address = ipaddress.ip_address(client[0].partition("%")[0])
    except ValueError:
        return _NOBODY
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_SENDER_BITS), strict=False))
