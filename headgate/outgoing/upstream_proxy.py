"""The operator's own proxy, through which this installation reaches the internet, and the direct destinations.

Destination rules stay where they are: an address is checked before the proxy is asked for it. Only a name that this
machine cannot resolve goes to the proxy unchecked, where the operator has said that the proxy resolves names
(docs/decisions/0107-chain-through-an-upstream-proxy.md).
"""

from base64 import b64encode
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.addresses import Address, AddressKind, embedded_ipv4, kind_of
from headgate.organizations.destinations import parse_host

DIRECT_VARIABLE: Final = "HEADGATE_UPSTREAM_PROXY_DIRECT"

LOOK_UP_SECONDS: Final = 2.0
"""For resolving a name that the proxy resolves too: name servers of an internal network may never answer for other
names."""

_OF_THIS_MACHINE: Final = frozenset({AddressKind.LOOPBACK, AddressKind.LINK_LOCAL, AddressKind.METADATA})
"""Always direct: through the proxy, these addresses would be the proxy's own."""

# RFC 6761, 6762, 7686, 8375; ``internal`` is reserved for private use (ICANN, 2024), and clouds answer there with
# credentials (metadata.google.internal). The rest are names of routers and of local networks.
_NOT_PUBLIC: Final = frozenset(
    {"localhost", "local", "internal", "arpa", "test", "invalid", "onion", "alt", "lan", "home", "corp", "intranet"}
)


class UpstreamProxy(Struct, frozen=True):
    """``names`` and ``networks`` are reached directly; ``*.name`` stands for all below it. ``authorization``: the value
    of Proxy-Authorization. ``resolves_names``: names go to the proxy, which refuses private addresses itself."""

    host: str
    port: int
    tls: bool
    authorization: Secret | None
    names: tuple[str, ...] = ()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    resolves_names: bool = False

    def is_direct_name(self, host: str) -> bool:
        name = host.lower().rstrip(".")
        return any(name.endswith(one[1:]) if one.startswith("*.") else name == one for one in self.names)

    def is_direct(self, address: Address) -> bool:
        target = embedded_ipv4(address) or address
        return kind_of(target) in _OF_THIS_MACHINE or any(target in network for network in self.networks)

    def targets(self, host: str, addresses: Sequence[Address]) -> tuple[Address | str, ...]:
        """What the proxy is asked for: the checked addresses, or the name, if the proxy resolves names, the name may be
        public and none of the addresses is private. A private address was permitted by itself, so no other may replace
        it."""
        by_name = self.resolves_names and not _is_literal(host) and may_be_public(host)
        if by_name and all(kind_of(one) is AddressKind.PUBLIC for one in addresses):
            return (host,)
        return tuple(addresses)


def upstream_proxy_of(url: Secret | None, direct: str | None, resolution: str) -> UpstreamProxy | None:
    """Parses the three HEADGATE_UPSTREAM_PROXY settings. None: no proxy. Raises ValidationError, which names the
    variable."""
    if url is None:
        return None
    parts = urlsplit(url.reveal())
    names: list[str] = []
    networks: list[IPv4Network | IPv6Network] = []
    for given in (one.strip() for one in (direct or "").split(",")):
        if not given:
            continue
        try:
            name, network = parse_host("host", given)
        except ValidationError as error:
            reason = "a name, *.name, an address or a network (10.0.0.0/8) is expected"
            raise ValidationError(
                f'the environment variable {DIRECT_VARIABLE} holds "{given[:200]}": {reason}',
                details={"variable": DIRECT_VARIABLE, "reason": reason},
            ) from error
        if name is not None:
            names.append(name)
        if network is not None:
            networks.append(network)
    tls = parts.scheme == "https"
    return UpstreamProxy(
        host=parts.hostname or "",
        port=parts.port or (443 if tls else 80),
        tls=tls,
        authorization=_basic(parts.username, parts.password),
        names=tuple(names),
        networks=tuple(networks),
        resolves_names=resolution == "proxy",
    )


def may_be_public(name: str) -> bool:
    """Whether a name without an address here may have a public one. A last label that begins with a digit is refused:
    the proxy may read such a name as an address."""
    labels = name.lower().rstrip(".").split(".")
    last = labels[-1]
    return len(labels) > 1 and all(labels) and last not in _NOT_PUBLIC and not last[0].isdigit()


def _is_literal(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _basic(user: str | None, password: str | None) -> Secret | None:
    """RFC 7617."""
    if user is None:
        return None
    credentials = f"{unquote(user)}:{unquote(password or '')}".encode()
    return Secret(f"Basic {b64encode(credentials).decode('ascii')}")
