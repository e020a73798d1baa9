"""Whether a host is one that anybody on the Internet reaches: a call to another one does not leave the own network."""

from ipaddress import IPv6Address, ip_address

from headgate.detectors.host_names import is_private
from headgate.kernel.short_key_cache import short_key_cache


@short_key_cache(4096)
def is_public(host: str) -> bool:
    """``host``: in lower case, an address with or without brackets. A name without a dot is of one's own network."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return "." in host and not is_private(host)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None  # the library calls them all private
    return (mapped or address).is_global
