"""A JSON web token goes where its own claims say that it belongs.

The server that issued a token has it already, and the one that it is for is meant to get it: their addresses stand in
``iss`` and ``aud`` (RFC 7519, sections 4.1.1 and 4.1.3). So a program that signs in with an assertion (RFC 7523) or a
refresh token gives nothing away. Who stole a token cannot change its claims; who makes one up gives away what it says,
which is decoded and looked at as any text is.
"""

from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError

_PARTS: Final = 3


def belongs_to(token: str, host: str) -> bool:
    """Whether ``iss`` or ``aud`` is an address at ``host``, which is in lower case. Below it may be anybody's
    (``gist.github.com``, ``any.vault.azure.net``). Signatures are not checked."""
    return any(_host_of(one) == host for one in _addresses(token))


def _addresses(token: str) -> Iterator[str]:
    parts = token.split(".")
    if len(parts) != _PARTS:
        return
    try:
        claims = parse_strict(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValidationError, ValueError):
        return
    if isinstance(claims, dict):
        for claim in (claims.get("iss"), claims.get("aud")):
            yield from _texts(claim)


def _texts(claim: JsonValue) -> Iterator[str]:
    for one in claim if isinstance(claim, list) else [claim]:
        if isinstance(one, str):
            yield one


def _host_of(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        return parts.hostname if parts.scheme == "https" else None
    except ValueError:
        return None
