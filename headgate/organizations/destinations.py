"""An organization's allowlist of destinations: which addresses that are not public its agents may reach.

The document is that of ``PUT /admin/settings/allowlist``::

    {"destinations": [{"host": "10.0.0.0/8", "ports": [8443], "private": true, "note": "the build farm"}],
     "tools": []}

``host`` is a name, a name with a leading wildcard, an address or a network; without ``ports`` an entry means
every port. Only an entry with ``private: true`` lifts the guard. Public addresses need no entry here: whether
a call to them is allowed is for the policies to say, which see the document as ``data.allowlist``.

The private addresses of an installation belong to its operator. An organization's entry lifts the guard only for what
the operator has opened to it (``bounds``); otherwise a tenant's administrator could reach the host's own services.
"""

import json
import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from headgate.kernel.call_name import NAME_RULE, first_unfit
from headgate.kernel.errors import ValidationError
from headgate.organizations.addresses import Address, AddressKind, embedded_ipv4, kind_of

if TYPE_CHECKING:
    # At run time it would bring the engine into the process that sends notifications, which has no room for it.
    from headgate.kernel.canonical_json import JsonObject

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


class Destination(Struct, frozen=True):
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

    def document(self) -> "JsonObject":
        """As ``PUT /admin/settings/allowlist`` takes it."""
        host = self.name if self.network is None else str(self.network)
        return {"host": host, "ports": [*sorted(self.ports)], "private": self.private, "note": self.note}

    def _matches_name(self, host: str) -> bool:
        if self.name is None:
            return False
        if self.name.startswith("*."):
            return host.endswith(self.name[1:])
        return host == self.name


class Allowlist(Struct, frozen=True):
    """The organization's destinations and the names of its tools, as policies see them.

    ``bounds``: the private destinations that the operator has opened to this organization; None: all of them.
    """

    destinations: tuple[Destination, ...] = ()
    tools: tuple[str, ...] = ()
    bounds: tuple[Destination, ...] | None = ()

    @staticmethod
    def empty() -> "Allowlist":
        return _EMPTY

    def permits(self, host: str, address: Address, port: int) -> bool:
        if kind_of(address) is AddressKind.PUBLIC:
            return True
        is_listed = any(entry.private and entry.covers(host, address, port) for entry in self.destinations)
        return is_listed and self.is_open(host, address, port)

    def is_open(self, host: str, address: Address, port: int) -> bool:
        """Whether the operator has opened this private address to the organization."""
        return self.bounds is None or any(entry.covers(host, address, port) for entry in self.bounds)

    def require_call_names(self) -> None:
        """Raises ValidationError for a tool that no call can have. What was stored earlier may have one."""
        if (number := first_unfit(self.tools)) is not None:
            raise _invalid(f"tools[{number}]", NAME_RULE)

    def require_within_bounds(self) -> None:
        """Raises ValidationError for an entry that the bounds leave without any effect. A name passes where there are
        bounds: what it resolves to is checked at each connection."""
        if self.bounds is None:
            return
        for index, entry in enumerate(self.destinations):
            if entry.private and not any(_may_meet(entry, bound) for bound in self.bounds):
                raise _invalid(
                    f"destinations[{index}]",
                    "the operator of this installation has not opened this private destination to your organization"
                    " (headgate org private-destinations)",
                )


class OperatorBounds(Struct, frozen=True):
    """What an organization's administrator may have called by a setting of its own, without an entry in the allowlist:
    public addresses, and the private ones in ``bounds``. None: all private ones, though never a cloud's credentials."""

    bounds: tuple[Destination, ...] | None

    def permits(self, host: str, address: Address, port: int) -> bool:
        kind = kind_of(address)
        if kind is AddressKind.PUBLIC:
            return True
        if self.bounds is None:
            return kind is not AddressKind.METADATA
        return any(entry.covers(host, address, port) for entry in self.bounds)


def rules_document(rules: Allowlist) -> "JsonObject":
    """Rules for another process, which reads them by ``rules_of_document``."""
    return {
        "destinations": [one.document() for one in rules.destinations],
        "bounds": None if rules.bounds is None else [one.document() for one in rules.bounds],
    }


def rules_of_document(document: "JsonObject") -> Allowlist:
    """Raises ValidationError."""
    bounds = document["bounds"]
    return Allowlist(
        parse_bounds({"destinations": document["destinations"]}),
        bounds=None if bounds is None else parse_bounds({"destinations": bounds}),
    )


_EMPTY: Final = Allowlist()
PUBLIC_ONLY: Final[DestinationRules] = _EMPTY
"""The rules of a client whose organization is not known yet, or that has no allowlist."""


def _may_meet(entry: Destination, bound: Destination) -> bool:
    if entry.ports and bound.ports and not entry.ports & bound.ports:
        return False
    if entry.network is None or bound.network is None:
        return entry.network is bound.network or entry.network is None
    if isinstance(entry.network, IPv4Network) and isinstance(bound.network, IPv4Network):
        return entry.network.overlaps(bound.network)
    if isinstance(entry.network, IPv6Network) and isinstance(bound.network, IPv6Network):
        return entry.network.overlaps(bound.network)
    return False


def parse_bounds(document: object) -> tuple[Destination, ...]:
    """What the operator opens to an organization: ``{"destinations": [{"host", "ports", "note"}]}``. Raises
    ValidationError, which names the field."""
    if not isinstance(document, dict):
        raise _invalid("", "an object is expected")
    _refuse_unknown("", document, frozenset({"destinations"}))
    entries = document.get("destinations")
    if not isinstance(entries, list) or len(entries) > _MAX_ENTRIES:
        raise _invalid("destinations", f"a list of at most {_MAX_ENTRIES} entries is expected")
    return tuple(_parse_entry(f"destinations[{index}]", entry) for index, entry in enumerate(entries))


def parse_allowlist(text: str, bounds: tuple[Destination, ...] | None = ()) -> Allowlist:
    """The document as it is stored, within ``bounds``. Raises ValidationError, which names the field."""
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
    parsed = tuple(_parse_entry(f"destinations[{index}]", entry) for index, entry in enumerate(entries))
    return Allowlist(parsed, tuple(tools), bounds)


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
    name, network = parse_host(f"{field}.host", entry.get("host"))
    return Destination(name, network, _parse_ports(f"{field}.ports", entry.get("ports", [])), private, note)


def parse_host(field: str, host: object) -> tuple[str | None, IPv4Network | IPv6Network | None]:
    expected = "a name, *.name, an address or a network (10.0.0.0/8) is expected"
    if not isinstance(host, str) or not host or len(host) > 253:
        raise _invalid(field, expected)
    text = host.lower()
    if "://" in text:
        raise _invalid(field, f"{expected}, not a URL")
    if text.count(":") == 1:
        raise _invalid(field, f"{expected}, without a port: ports are given separately")
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
