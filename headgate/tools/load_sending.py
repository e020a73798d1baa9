"""The member ``send`` of a catalogue and of its entries: how Headgate makes the call itself."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from headgate.configuration.yaml_document import Section
from headgate.protocols.draft import Effect
from headgate.tools.model import Content, CredentialPlace, Sending

_HEADER: Final = re.compile(r"[A-Za-z0-9-]+")
_VALUE: Final = re.compile(r"[ -~]*")
_WITHOUT_CONTENT: Final = frozenset({"GET", "DELETE"})
_PORTS: Final = {"https": 443, "http": 80}
_SHARED: Final = ("origin", "headers", "defaults", "idempotency_header", "credential")


def read_sending(entry: Section, catalogue: Section, *, hosts: Sequence[str], method: str, effect: Effect) -> Sending:
    """What the entry says goes before what the catalogue says of all of them. Raises ValidationError."""
    catalogue.only(*_SHARED)
    entry.only(*_SHARED, "method", "content", "query", "repeatable", "keep")
    content = entry.text("content", Content.QUERY if method in _WITHOUT_CONTENT else Content.JSON)
    if content not in tuple(Content):
        raise entry.fail("content", f"{content!r} is not one of {', '.join(Content)}")
    scheme, host, port = _origin(entry if "origin" in entry.members else catalogue, hosts)
    named = entry if "idempotency_header" in entry.members else catalogue
    idempotency_header = _header(named, "idempotency_header") if "idempotency_header" in named.members else None
    repeatable = entry.members.get("repeatable", effect is Effect.READ or idempotency_header is not None)
    if not isinstance(repeatable, bool):
        raise entry.fail("repeatable", "true or false is required")
    return Sending(
        scheme=scheme,
        host=host,
        port=port,
        method=method,
        content=Content(content),
        query=frozenset(entry.strings("query")),
        headers={**_headers(catalogue), **_headers(entry)},
        defaults={**_texts(catalogue.section("defaults")), **_texts(entry.section("defaults"))},
        idempotency_header=idempotency_header,
        repeatable=repeatable,
        keep=entry.strings("keep"),
        credential=_credential(entry if "credential" in entry.members else catalogue),
    )


def _origin(section: Section, hosts: Sequence[str]) -> tuple[str, str, int]:
    if "origin" not in section.members:
        return "https", next((host for host in hosts if not host.startswith("*.")), hosts[0]), 443
    try:
        parts = urlsplit(section.text("origin"))
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError) as error:
        raise section.fail("origin", "https://host or https://host:port is required") from error
    if parts.hostname is None or parts.hostname not in hosts or parts.path or parts.query or parts.username:
        raise section.fail("origin", "is not scheme, one of the hosts, and perhaps a port")
    return parts.scheme, parts.hostname, port


def _headers(section: Section) -> dict[str, str]:
    headers = section.section("headers")
    found = {name: headers.text(name) for name in headers.members}
    for name, value in found.items():
        if _HEADER.fullmatch(name) is None or _VALUE.fullmatch(value) is None:
            raise headers.fail(name, "is no header of visible ASCII")
    return found


def _texts(section: Section) -> dict[str, str]:
    return {name: section.text(name) for name in section.members}


def _header(section: Section, key: str) -> str:
    name = section.text(key)
    if _HEADER.fullmatch(name) is None:
        raise section.fail(key, f"{name!r} is no name of a header")
    return name


def _credential(section: Section) -> CredentialPlace | None:
    if section.members.get("credential", "none") == "none":
        return None
    credential = section.section("credential")
    credential.only("name", "header", "prefix")
    prefix = credential.members.get("prefix", "Bearer ")
    if not isinstance(prefix, str) or _VALUE.fullmatch(prefix) is None:
        raise credential.fail("prefix", "a text of visible ASCII is required")
    header = _header(credential, "header") if "header" in credential.members else "Authorization"
    return CredentialPlace(credential.text("name"), header, prefix)
