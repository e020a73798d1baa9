"""Names by which servers replace the method, the URL or the host of a request, in the spellings that they take for one.

CGI, WSGI and PHP make variables of the names of headers and members, and several names make one variable. lighttpd
replaces each character of a header but letters and digits, wsgiref the hyphen; PHP replaces dots and spaces in either
(php.net, "Variables From External Sources"), drops spaces at the start and all after a NUL. Rack 2 and qs drop
brackets.
"""

import re
from collections.abc import Iterable
from typing import Final

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.member_names import any_has

METHOD_HEADERS: Final = frozenset({b"x-http-method-override", b"x-http-method", b"x-method-override"})
TARGET_HEADERS: Final = frozenset({b"x-original-url", b"x-rewrite-url", b"x-forwarded-host"})
"""IIS, Symfony, Zend."""
FORWARDED: Final = b"forwarded"
# Rails, Laravel, WordPress; Salesforce; Google.
_METHOD_MEMBERS: Final = frozenset(
    {"_method", "_httpmethod", "$httpmethod"}
    | {name.decode("ascii") for name in METHOD_HEADERS}
    | {name.decode("ascii").replace("-", "_") for name in METHOD_HEADERS}
)
_HYPHENS: Final = bytes(
    code if chr(code).isascii() and chr(code).isalnum() else ord("-") for code in bytes(range(256)).lower()
)
_UNDERSCORES: Final = str.maketrans(". ", "__")
_HOST_PAIR: Final = re.compile(rb"(?:^|[;,\s])host\s*=", re.IGNORECASE)


def header_variable(name: bytes) -> bytes:
    """The one spelling of all names of which a server makes the same variable: in lower case, with hyphens."""
    return name.translate(_HYPHENS)


def names_host(forwarded: bytes) -> bool:
    """Whether a ``Forwarded`` (RFC 7239) says another host, which Rack and Spring take for the request's. What stands
    in quotes counts, too."""
    return _HOST_PAIR.search(forwarded) is not None


def refuse_method_override(names: Iterable[str], *, field: str) -> None:
    """Frameworks let a member of the query or the body replace the method: a GET that deletes.

    Raises AmbiguousRequestError.
    """
    name = method_override(names)
    if name is not None:
        raise AmbiguousRequestError(
            f"the {field} can be read in more than one way: the member {name} overrides the method on some servers",
            details={"field": field},
        )


def method_override(names: Iterable[str]) -> str | None:
    """The first of ``names`` that some server takes for the method."""
    held = tuple(names)
    found = (name for name in held if _member_variable(name) in _METHOD_MEMBERS)
    return next(found, None) if any_has(held, "method") else None


def _member_variable(name: str) -> str:
    return name.partition("\0")[0].strip(" []").lower().translate(_UNDERSCORES)
