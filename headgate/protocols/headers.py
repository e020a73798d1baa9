"""Request headers as policies and the digest see them: lower-case names, in two selections.

``covered`` is what an approval covers: all but the names in ``config/digest.yaml``. ``shown`` is what
policies see: all, with the values of the secret ones (``config/masking.yaml``) masked. A name that occurs
once has its value, one that occurs more often the list of its values in order. Values are read as
ISO 8859-1, which loses nothing (RFC 9110, section 5.5).
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError
from headgate.kernel.secrets import MASK
from headgate.kernel.short_key_cache import short_key_cache
from headgate.protocols.overrides import FORWARDED, METHOD_HEADERS, TARGET_HEADERS, header_variable, names_host

_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
SINGLE_HEADERS: Final = frozenset(
    {b"host", b"content-length", b"content-type", b"content-encoding", b"content-disposition", b"transfer-encoding"}
    | {b"authorization", b"expect", b"proxy-authorization", b"x-agent-key", b"x-agent-id", b"range", b"upgrade"}
)
"""Of which a server chooses one."""
_ONE_SPELLING: Final = SINGLE_HEADERS | METHOD_HEADERS | TARGET_HEADERS | {FORWARDED}


# What a name is, as bits of an integer: enum.IntFlag costs three times the rest of this module.
_PLAIN: Final = 0
_IGNORED: Final = 1
_SECRET: Final = 2
_SINGLE_ONLY: Final = 4
_METHOD: Final = 8
_TARGET: Final = 16
_FORWARDED: Final = 32
_COMMON: Final = frozenset({_PLAIN, _IGNORED, _SINGLE_ONLY, _SINGLE_ONLY | _IGNORED})


class HeaderLists(Struct, frozen=True):
    """The lists of ``config/digest.yaml`` and ``config/masking.yaml``."""

    ignored: frozenset[str]
    ignored_prefixes: tuple[str, ...]
    secret: frozenset[str]


class Headers(Struct, frozen=True):
    """The headers of one request. ``values`` holds the few that say how the body is to be read."""

    covered: JsonObject
    shown: JsonObject
    content_type: str | None
    content_encoding: str | None


@cache
def header_lists() -> HeaderLists:
    """Read once in the life of a process."""
    return make_header_lists(read_document(resource_path("digest.yaml")), read_document(resource_path("masking.yaml")))


def make_header_lists(digest: Section, masking: Section) -> HeaderLists:
    """Raises ValidationError for a name that could never match: an approval would cover, or a record show, it."""
    digest.only("ignored_headers", "ignored_prefixes")
    return HeaderLists(
        ignored=frozenset(_lower_names(digest, "ignored_headers")),
        ignored_prefixes=tuple(_lower_names(digest, "ignored_prefixes")),
        secret=frozenset(_lower_names(masking, "headers")),
    )


def _lower_names(section: Section, key: str) -> Sequence[str]:
    names = section.strings(key)
    for name in names:
        if name != name.lower() or _TOKEN.fullmatch(name.encode()) is None:
            raise section.fail(key, f"{name!r} is not a header name in lower case")
    return names


@short_key_cache(4096)
def _classify(raw: bytes) -> tuple[str, int]:
    """Bounded, as agents choose the names. Raises AmbiguousRequestError for what is not a name."""
    if _TOKEN.fullmatch(raw) is None:
        raise AmbiguousRequestError("a header name holds characters that no name may", details={"field": "headers"})
    lowered = raw.lower()
    variable = header_variable(lowered)
    if variable != lowered and variable in _ONE_SPELLING:
        # Servers make one variable of both: what is read here need not be what is read there.
        raise AmbiguousRequestError(
            f"write the header {variable.decode('ascii')} with hyphens", details={"field": "headers"}
        )
    name = lowered.decode("ascii")
    lists = header_lists()
    kind = _PLAIN
    if name in lists.ignored or name.startswith(lists.ignored_prefixes):
        kind |= _IGNORED
    if name in lists.secret:
        kind |= _SECRET
    if lowered in SINGLE_HEADERS:
        kind |= _SINGLE_ONLY
    if lowered in METHOD_HEADERS:
        kind |= _METHOD
    if lowered in TARGET_HEADERS:
        kind |= _TARGET
    if lowered == FORWARDED:
        kind |= _FORWARDED
    return name, kind


def read_headers(raw_headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Raises AmbiguousRequestError: headers that replace method, URL or host, and repeated ones of which a server would
    choose one."""
    covered: JsonObject = {}
    shown: JsonObject = {}
    for raw_name, raw_value in raw_headers:
        name, kind = _classify(raw_name)
        value = raw_value.decode("latin-1")
        if name not in shown and kind in _COMMON:
            if not kind & _IGNORED:
                covered[name] = value
            shown[name] = value
            continue
        if kind & _METHOD:
            raise AmbiguousRequestError(
                f"{name} overrides the method on some servers: send the method that is meant", details={"field": name}
            )
        if kind & _TARGET or (kind & _FORWARDED and names_host(raw_value)):
            raise AmbiguousRequestError(
                f"{name} overrides the URL or the host on some servers: send the URL that is meant",
                details={"field": name},
            )
        if kind & _SINGLE_ONLY and name in shown:
            raise AmbiguousRequestError(f"the header {name} is there more than once", details={"field": name})
        _add(shown, name, MASK if kind & _SECRET else value)
        if not kind & _IGNORED:
            _add(covered, name, value)
    content_type, content_encoding = shown.get("content-type"), shown.get("content-encoding")
    return Headers(
        covered,
        shown,
        content_type if isinstance(content_type, str) else None,
        content_encoding if isinstance(content_encoding, str) else None,
    )


def without_secrets(headers: JsonObject) -> JsonObject:
    """Covered headers as parameters: a credential is covered by the digest, but nothing a policy reads."""
    secret = header_lists().secret
    if secret.isdisjoint(headers):
        return headers
    return {name: value for name, value in headers.items() if name not in secret}


def _add(target: JsonObject, name: str, value: str) -> None:
    present = target.get(name)
    if present is None:
        target[name] = value
    elif isinstance(present, list):
        target[name] = [*present, value]
    else:
        target[name] = [present, value]
