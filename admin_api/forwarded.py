"""Where a request really comes from, behind reverse proxies that are trusted by their addresses.

One header is read, the one that the operator says the outermost proxy writes: of two, a client could send the other.
Its list grows to the right (RFC 7239, section 5.2, and X-Forwarded-For alike), so it is read from there: each address
that is a trusted proxy's is passed over, and the first that is none is the client. What stands left of it anybody can
have written. An entry that is no address (``unknown``, ``_hidden``) ends the reading at the proxy that wrote it.
"""

import ipaddress
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct
from starlette.types import Scope

from admin_api.client_address import address_subject

type Network = ipaddress.IPv4Network | ipaddress.IPv6Network
type _Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_MOST_CHARACTERS: Final = 8 * 1024
_FORWARDED: Final = {b"x-forwarded-for": "X-Forwarded-For", b"forwarded": "Forwarded"}


class ForwardedHeader(StrEnum):
    X_FORWARDED_FOR = "x-forwarded-for"
    FORWARDED = "forwarded"


class TrustedProxies(Struct, frozen=True):
    """No networks: the header says nothing to us."""

    networks: tuple[Network, ...] = ()
    header: ForwardedHeader = ForwardedHeader.X_FORWARDED_FOR

    def locate(self, scope: Scope) -> bool:
        """Makes ``client`` of this request who sent it to the outermost of our proxies; ``scheme`` stays as it is.
        Whether it came through one."""
        client = scope.get("client")
        if not self.networks or client is None:
            return False
        nearest = _address(str(client[0]))
        if nearest is None or not self._trusts(nearest):
            return False
        for entry in self._from_the_right(scope):
            found = _address(entry)
            if found is None:
                break
            nearest = found
            if not self._trusts(found):
                break
        scope["client"] = (str(nearest), 0)
        return True

    def address_of(self, client: tuple[str, int] | None) -> str | None:
        """Whose a connection is (``address_subject``); None: one of our proxies', for many clients."""
        nearest = None if client is None else _address(client[0])
        return None if nearest is not None and self._trusts(nearest) else address_subject({"client": client})

    def unheard(self, scope: Scope) -> str | None:
        """The header with which somebody who is not trusted says that they speak for others; None: nobody did."""
        shown = next((name for name, _ in scope["headers"] if name in _FORWARDED), None)
        client = scope.get("client")
        if shown is None or client is None:
            return None
        nearest = _address(str(client[0]))
        return None if nearest is not None and self._trusts(nearest) else _FORWARDED[shown]

    def _trusts(self, address: _Address) -> bool:
        return any(address.version == one.version and address in one for one in self.networks)

    def _from_the_right(self, scope: Scope) -> Iterator[str]:
        """Several lines are one list (RFC 9110, section 5.3). Of a long one the right end is read: what our proxy wrote
        stands there, and nobody hides behind its address by writing much on the left."""
        wanted = self.header.encode()
        joined = b",".join(value for name, value in scope["headers"] if name == wanted).decode("latin-1")
        elements = joined[-_MOST_CHARACTERS:].split(",")
        if len(joined) > _MOST_CHARACTERS:
            del elements[0]  # its beginning is missing
        for element in reversed(elements):
            yield element.strip() if self.header is ForwardedHeader.X_FORWARDED_FOR else _for(element)


def _for(element: str) -> str:
    """The node of one ``forwarded-element`` (RFC 7239, section 4); what names none, or two, says nothing."""
    pairs = [pair.partition("=") for pair in element.split(";")]
    nodes = [value.strip() for name, _, value in pairs if name.strip().lower() == "for"]
    return nodes[0].strip('"') if len(nodes) == 1 else ""


def _address(text: str) -> _Address | None:
    """An address as it stands there: alone, with a port, or an IPv6 one in brackets (RFC 7239, section 6)."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found
