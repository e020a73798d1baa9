"""An organization's allowlist of destinations: which addresses that are not public its agents may reach.

The document is that of ``PUT /admin/settings/allowlist``::

    {"destinations": [{"host": "10.0.0.0/8", "ports": [8443], "private": true, "note": "the build farm"}],
     "tools": []}

``host`` is a name, a name with a leading wildcard, an address or a network; without ``ports`` an entry means
every port. Only an entry with ``private: true`` lifts the guard. Public addresses need no entry here: whether
a call to them is allowed is for the policies to say, which see the document as ``data.allowlist``.
"""

import json
import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, Protocol

from headgate.kernel.errors import ValidationError
from headgate.organizations.addresses import Address, AddressKind, embedded_ipv4, kind_of

_MAX_ENTRIES: Final = 1000
_MAX_NOTE: Final = 500
_NAME: Final = re.compile(
    r"(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_ENTRY_FIELDS: Final = frozenset({"host", "ports", "private", "note"})
_DOCUMENT_FIELDS: Final = frozenset({"destinations", "tools"})


class DestinationRules(Protocol):
    """What the guard asks before it connects, and again when a connection is used again."""

    def permits(self, host: str, address: Address, port: int) -> bool:
        """Whether ``address``, reached under the name ``host``, may be connected to on ``port``."""
        ...


@dataclass(frozen=True, slots=True)
class Destination:
    """One entry. Exactly one of ``name`` and ``network`` is set; ``ports`` empty means all."""

    name: str | None
    network: IPv4Network | IPv6Network | None
    ports: frozenset[int]
    private: bool
    note: str = ""

    def covers(self, host: str, address: Address, port: int) -> bool:
        if self.ports and port not in self.ports:
            return False
        if self.network is not None:
            target = embedded_ipv4(address) or address
            return target in self.network or address in self.network
        if kind_of(address) is AddressKind.METADATA:
            # A name says nothing about where it points tomorrow; credentials of the machine need their address named.
            return False
        return self._matches_name(host.lower().rstrip("."))

    def _matches_name(self, host: str) -> bool:
        if self.name is None:
            return False
        if self.name.startswith("*."):
            return host.endswith(self.name[1:])
        return host == self.name


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The organization's destinations and the names of its tools, as policies see them."""

    destinations: tuple[Destination, ...] = ()
    tools: tuple[str, ...] = ()

    @staticmethod
    def empty() -> "Allowlist":
        return _EMPTY

    def permits(self, host: str, address: Address, port: int) -> bool:
        if kind_of(address) is AddressKind.PUBLIC:
            return True
        return any(entry.private and entry.covers(host, address, port) for entry in self.destinations)


_EMPTY: Final = Allowlist()
PUBLIC_ONLY: Final[DestinationRules] = _EMPTY
"""The rules of a client whose organization is not known yet, or that has no allowlist."""


def parse_allowlist(text: str) -> Allowlist:
    """The document as it is stored. Raises ValidationError, which names the field."""
    try:
        document: object = json.loads(text)
    except ValueError as error:
        raise _invalid("", "not JSON") from error
    if not isinstance(document, dict):
        raise _invalid("", "an object is expected")
    _refuse_unknown("", document, _DOCUMENT_FIELDS)
    entries = document.get("destinations", [])
    if not isinstance(entries, list) or len(entries) > _MAX_ENTRIES:
        raise _invalid("destinations", f"a list of at most {_MAX_ENTRIES} entries is expected")
    tools = document.get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
        raise _invalid("tools", "a list of names is expected")
    return Allowlist(
        tuple(_parse_entry(f"destinations[{index}]", entry) for index, entry in enumerate(entries)), tuple(tools)
    )


def _parse_entry(field: str, entry: object) -> Destination:
    if not isinstance(entry, dict):
        raise _invalid(field, "an object is expected")
    _refuse_unknown(field, entry, _ENTRY_FIELDS)
    private = entry.get("private", False)
    if not isinstance(private, bool):
        raise _invalid(f"{field}.private", "true or false is expected")
    note = entry.get("note", "")
    if not isinstance(note, str) or len(note) > _MAX_NOTE:
        raise _invalid(f"{field}.note", f"a text of at most {_MAX_NOTE} characters is expected")
    name, network = _parse_host(f"{field}.host", entry.get("host"))
    return Destination(name, network, _parse_ports(f"{field}.ports", entry.get("ports", [])), private, note)


def _parse_host(field: str, host: object) -> tuple[str | None, IPv4Network | IPv6Network | None]:
    expected = "a name, *.name, an address or a network (10.0.0.0/8) is expected"
    if not isinstance(host, str) or not host or len(host) > 253:
        raise _invalid(field, expected)
    text = host.lower()
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        if "/" in bare:
            return None, ip_network(bare)
        return None, ip_network(ip_address(bare))
    except ValueError as error:
        # What looks like a number is never a name: 10.0.0.1/8 and 127.1 are mistakes, not hosts.
        if "/" in bare or ":" in bare or bare.rsplit(".", 1)[-1].isdigit():
            raise _invalid(field, f"{expected}: {error}") from error
    try:
        name = text.rstrip(".").encode("idna").decode("ascii") if not text.isascii() else text.rstrip(".")
    except UnicodeError as error:
        raise _invalid(field, expected) from error
    if _NAME.fullmatch(name) is None:
        raise _invalid(field, expected)
    return name, None


def _parse_ports(field: str, ports: object) -> frozenset[int]:
    if not isinstance(ports, list):
        raise _invalid(field, "a list of ports is expected")
    for port in ports:
        if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
            raise _invalid(field, "a port is a whole number from 1 to 65535")
    return frozenset(ports)


def _refuse_unknown(field: str, entry: dict[str, object], known: frozenset[str]) -> None:
    unknown = sorted(entry.keys() - known)
    if unknown:
        raise _invalid(f"{field}.{unknown[0]}".lstrip("."), "unknown field")


def _invalid(field: str, reason: str) -> ValidationError:
    return ValidationError(
        f"allowlist: {field + ': ' if field else ''}{reason}", details={"field": field, "reason": reason}
    )
