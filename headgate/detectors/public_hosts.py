"""Whether a host is one that anybody on the Internet reaches: a call to another one does not leave the own network."""

import re
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

from headgate.detectors.host_names import is_private
from headgate.kernel.short_key_cache import short_key_cache

_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_CARRIERS: Final = tuple(map(IPv6Network, ("2001::/32", "2002::/16", "64:ff9b::/96", "64:ff9b:1::/48")))
"""Teredo (RFC 4380), 6to4 (RFC 3056) and NAT64 (RFC 6052, RFC 8215): an IPv4 address within is where the call goes."""


@short_key_cache(4096)
def is_public(host: str) -> bool:
    """``host``: in lower case, an address with or without brackets. A name without a dot is of one's own network. What
    ends in a number is no name: resolvers read an address in it (``inet_aton``), which may be any."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) is not None:
            return True
        return "." in host and not is_private(host)
    if not isinstance(address, IPv6Address):
        return address.is_global
    if any(address in one for one in _CARRIERS):
        return True
    return (address.ipv4_mapped or address).is_global  # the library calls all mapped ones private
