"""Which internet addresses an agent may reach without anybody having named them: the public ones, and no others.

The tables follow the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and its updates).
``ipaddress.is_global`` is not enough: it calls NAT64, 6to4 and multicast global, and so a way around.
"""

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

type Address = IPv4Address | IPv6Address


METADATA_MEANING: Final = (
    "where a cloud hands this machine's own credentials to whoever asks, so hardly anything but an attack wants it"
)
"""Of ``AddressKind.METADATA``, for people who are asked to permit it (CWE-918)."""


class AddressKind(StrEnum):
    """What an address is to the guard; everything but PUBLIC needs an entry of the allowlist."""

    PUBLIC = "public"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    LINK_LOCAL = "link_local"
    METADATA = "metadata"
    MULTICAST = "multicast"
    RESERVED = "reserved"


# Where clouds answer with credentials: AWS, Azure, GCP, DigitalOcean (169.254.169.254), AWS ECS (169.254.170.2, .23),
# Alibaba, Azure's wire server, Oracle; and their IPv6 forms. Some lie in public or private ranges, so they come first.
_METADATA: Final = frozenset(
    {
        IPv4Address("169.254.169.254"),
        IPv4Address("169.254.169.253"),
        IPv4Address("169.254.170.2"),
        IPv4Address("169.254.170.23"),
        IPv4Address("100.100.100.200"),
        IPv4Address("168.63.129.16"),
        IPv4Address("192.0.0.192"),
        IPv6Address("fd00:ec2::254"),
        IPv6Address("fd00:ec2::23"),
        IPv6Address("fd20:ce::254"),
    }
)

_IPV4: Final = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", AddressKind.LOOPBACK),  # "this host": Linux connects it to itself
        ("10.0.0.0/8", AddressKind.PRIVATE),
        ("100.64.0.0/10", AddressKind.PRIVATE),  # RFC 6598
        ("127.0.0.0/8", AddressKind.LOOPBACK),
        ("169.254.0.0/16", AddressKind.LINK_LOCAL),
        ("172.16.0.0/12", AddressKind.PRIVATE),
        ("192.0.0.0/24", AddressKind.RESERVED),
        ("192.0.2.0/24", AddressKind.RESERVED),
        ("192.88.99.0/24", AddressKind.RESERVED),
        ("192.168.0.0/16", AddressKind.PRIVATE),
        ("198.18.0.0/15", AddressKind.PRIVATE),  # RFC 2544; in use as a private range
        ("198.51.100.0/24", AddressKind.RESERVED),
        ("203.0.113.0/24", AddressKind.RESERVED),
        ("224.0.0.0/4", AddressKind.MULTICAST),
        ("240.0.0.0/4", AddressKind.RESERVED),  # 255.255.255.255 included
    )
)

_IPV6: Final = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/128", AddressKind.LOOPBACK),
        ("::1/128", AddressKind.LOOPBACK),
        ("64:ff9b:1::/48", AddressKind.PRIVATE),  # local-use NAT64 (RFC 8215)
        ("2001::/23", AddressKind.RESERVED),  # Teredo, ORCHID and other assignments (RFC 2928)
        ("2001:db8::/32", AddressKind.RESERVED),
        ("3fff::/20", AddressKind.RESERVED),  # RFC 9637
        ("fc00::/7", AddressKind.PRIVATE),  # RFC 4193
        ("fe80::/10", AddressKind.LINK_LOCAL),
        ("fec0::/10", AddressKind.PRIVATE),  # site-local, deprecated and still routed in places
        ("ff00::/8", AddressKind.MULTICAST),
    )
)
_IPV6_GLOBAL: Final = IPv6Network("2000::/3")  # all that IANA has given out as global unicast
_NAT64: Final = IPv6Network("64:ff9b::/96")  # RFC 6052
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")  # RFC 3056
_IPV4_COMPATIBLE: Final = IPv6Network("::/96")  # RFC 4291, 2.5.5.1
_IPV4_TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")  # RFC 2765
_LAST_32_BITS: Final = (1 << 32) - 1


def embedded_ipv4(address: Address) -> IPv4Address | None:
    """The IPv4 address that a packet to this IPv6 address ends at: mapped, NAT64, 6to4, compatible, translated."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    value = int(address)
    if address in _SIX_TO_FOUR:
        return IPv4Address(value >> 80 & _LAST_32_BITS)
    if address in _NAT64 or address in _IPV4_TRANSLATED or (address in _IPV4_COMPATIBLE and value > 1):
        return IPv4Address(value & _LAST_32_BITS)
    return None


def kind_of(address: Address) -> AddressKind:
    """What the address is; an embedded IPv4 address counts as that address."""
    target = embedded_ipv4(address) or address
    if target in _METADATA:
        return AddressKind.METADATA
    if isinstance(target, IPv4Address):
        return next((kind for network, kind in _IPV4 if target in network), AddressKind.PUBLIC)
    for network, kind in _IPV6:
        if target in network:
            return kind
    return AddressKind.PUBLIC if target in _IPV6_GLOBAL else AddressKind.RESERVED
