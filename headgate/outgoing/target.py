"""Where a URL leads: read once, so that what is checked, named in Host and in TLS, and connected to is the same.

RFC 3986 with less: ``http`` and ``https``, a host, no user information, no fragment, nothing that needs guessing.
"""

import re
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.organizations.ports import BAD_PORTS

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_URL: Final = 4096
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")


class Target(Struct, frozen=True):
    """``host`` is lower case, in IDNA's ASCII form, an IPv6 address without brackets; ``path`` includes the query."""

    scheme: str
    host: str
    port: int
    path: bytes

    @property
    def authority(self) -> str:
        """The value of Host (RFC 9110, section 7.2)."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port == _DEFAULT_PORTS[self.scheme] else f"{shown}:{self.port}"


def parse_target(url: str) -> Target:
    """Raises ValidationError, which says what is wrong with the address."""
    if len(url) > _MAX_URL:
        raise _invalid(f"it is over {_MAX_URL} characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _invalid(str(error)) from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise _invalid("it must begin with https:// or http://")
    if "@" in parts.netloc or "\\" in url:
        raise _invalid("user names, passwords and backslashes are not allowed in it")
    if parts.fragment or "#" in url:
        raise _invalid("a fragment (#…) is never sent")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if _PRINTABLE.fullmatch(path) is None:
        raise _invalid("blanks and characters beyond ASCII in path or query must be percent-encoded")
    found = _DEFAULT_PORTS[parts.scheme] if port is None else port
    if found in BAD_PORTS:
        raise _invalid(f"port {found} belongs to another protocol")
    return Target(parts.scheme, _host(parts.hostname or ""), found, path.encode())


def _host(given: str) -> str:
    try:
        address = ip_address(given)
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            raise _invalid("an address with a zone identifier is local to this machine")
        return str(address)
    except ValueError:
        pass
    try:
        name = given.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise _invalid("its host is not a name") from error
    if len(name) > 253 or _NAME.fullmatch(name) is None:
        raise _invalid("its host is not a name")
    return name


def _invalid(reason: str) -> ValidationError:
    return ValidationError(f"not an address to send to: {reason}", details={"field": "url", "reason": reason})
