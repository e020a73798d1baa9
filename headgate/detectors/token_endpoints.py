"""JSON web tokens that a call gives back to the server that issued them, or that they are for (``token_audience``).

Many share a host such as ``gitlab.com``, and what is sent to most of its paths others read: only endpoints that sign
in, revoke or introspect take tokens. ``config/detectors/token_endpoints.yaml`` is the table.
"""

from functools import cache

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.log_in_bodies import TEXT_MAX, WEB_TOKENS
from headgate.detectors.log_ins import log_ins
from headgate.detectors.model import Finding, text_at_path
from headgate.detectors.token_audience import belongs_to
from headgate.kernel.canonical_json import JsonValue


class TokenEndpoints(Struct, frozen=True):
    """``paths``: their ends, each with the slash before it. ``tokens``: names of fields that hold one. ``beside``: what
    else such a call has."""

    paths: tuple[str, ...]
    tokens: frozenset[str]
    beside: frozenset[str]


@cache
def token_endpoints() -> TokenEndpoints:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "token_endpoints.yaml"))
    document.only("paths", "tokens", "beside")
    return TokenEndpoints(
        tuple(f"/{one}" for one in document.strings("paths")),
        frozenset(document.strings("tokens")),
        log_ins().names.all.union(document.strings("beside")),
    )


def without_returned(findings: tuple[Finding, ...], value: JsonValue, host: str, path: str) -> tuple[Finding, ...]:
    """The findings in a call over TLS that are no token which it gives back to ``host``."""
    http, body = (value.get("http"), value.get("body")) if isinstance(value, dict) else (None, None)
    if not isinstance(http, dict) or not isinstance(body, dict) or http.get("method") != "POST":
        return findings
    if not path.rstrip("/").endswith(token_endpoints().paths):
        return findings
    if not _has_only_short_values(http.get("query"), host) or not _has_only_short_values(body, host):
        return findings
    return tuple(one for one in findings if not _is_returned(one, value, host))


def _is_returned(finding: Finding, value: JsonValue, host: str) -> bool:
    """As all of a field that takes such tokens."""
    span = finding.span if finding.kind in WEB_TOKENS else None
    if span is None or not any(span.path in (("body", one), ("body", one, 0)) for one in token_endpoints().tokens):
        return False
    text = text_at_path(value, span.path)
    return text is not None and span.end - span.start == len(text) and belongs_to(text, host)


def _has_only_short_values(members: JsonValue, host: str) -> bool:
    """Whether each has a name that such calls use, and one short value or a token that belongs to the host."""
    if not members:
        return True
    known = token_endpoints()
    return isinstance(members, dict) and all(
        (name.lower() in known.beside or name in known.tokens) and _is_short(member, host)
        for name, member in members.items()
    )


def _is_short(member: JsonValue, host: str) -> bool:
    member = member[0] if isinstance(member, list) and len(member) == 1 else member
    if isinstance(member, str):
        return len(member) <= TEXT_MAX or belongs_to(member, host)
    return member is None or isinstance(member, bool | int)
