"""Writes to a store of secrets (Vault, the secret managers of clouds), where a password or a key is to be.

A few values without a form of a vendor, in the field that the store keeps, each alone in its text; a copy of everything
that a program knows is more. ``config/detectors/secret_stores.yaml`` is the table.
"""

import re
from base64 import b64decode
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.model import Finding, text_at_path
from headgate.detectors.service_hosts import fits_host, is_own_service
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import ValidationError

_KINDS: Final = frozenset(("password", "token"))
_SECRETS_MAX: Final = 3
_WRITES: Final = frozenset(("POST", "PUT", "PATCH"))
_ONE_VALUE: Final = re.compile(r"""(?:[A-Za-z_][\w.-]{0,63} ?[=:] ?)?(["']?)[^\s,;|"']{1,256}\1""")
"""A value, or a name and a value. With separators it may be any number of them, of which only the first is found."""
_PLAIN_PATH: Final = re.compile(r"\$(?:\.[A-Za-z0-9_]+)+")
_BASE64: Final = "base64"
_MEMBER_OF_JSON: Final = "json:"
_MEMBERS_MAX: Final = 16


class SecretStore(Struct, frozen=True):
    """``hosts``: patterns of the vendor's. ``named``: words of the first label that name the product. ``paths``:
    patterns in which ``*`` is any number of segments. ``field``: of the body."""

    hosts: tuple[str, ...]
    named: frozenset[str]
    paths: tuple[str, ...]
    field: str

    def keeps(self, host: str, path: str) -> bool:
        if not any(fnmatchcase(path, one) for one in self.paths):
            return False
        return any(fits_host(host, one) for one in self.hosts) or is_own_service(host, self.named)


@cache
def secret_stores() -> tuple[SecretStore, ...]:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "secret_stores.yaml"))
    return tuple(_store(document.section(one)) for one in document.members)


def is_kept(findings: tuple[Finding, ...], value: JsonObject, host: str, path: str) -> bool:
    """Whether ``findings``, all of a call over TLS, are what the store at this host and path keeps."""
    http = value.get("http")
    if len(findings) > _SECRETS_MAX or not isinstance(http, dict) or http.get("method") not in _WRITES:
        return False
    return all(_is_one_value(found, value) for found in findings) and any(
        one.keeps(host, path) and all(_is_in(found, f"$.body.{one.field}") for found in findings)
        for one in secret_stores()
    )


def _is_in(found: Finding, field: str) -> bool:
    path = found.place.path
    return found.kind in _KINDS and (path == field or path.startswith((f"{field}.", f"{field}[")))


def _is_one_value(found: Finding, value: JsonValue) -> bool:
    """Whether the text in which it stands has nothing but it, or its name and it."""
    if found.span is None:
        return _is_one_value_inside(found, value)
    text = text_at_path(value, found.span.path)
    if text is None:
        return False
    return (found.span.start == 0 and found.span.end == len(text)) or _ONE_VALUE.fullmatch(text) is not None


def _is_one_value_inside(found: Finding, value: JsonValue) -> bool:
    """The same for what stands in Base64 (Google), or is a member of a flat object in a text (Amazon)."""
    path, steps = found.place.path, found.place.steps
    text = text_at_path(value, path.split(".")[1:]) if _PLAIN_PATH.fullmatch(path) is not None else None
    if text is None or len(steps) != 1:
        return False
    if steps[0].startswith(_MEMBER_OF_JSON):
        return _has_one_value_each(text)
    try:
        return steps[0] == _BASE64 and _ONE_VALUE.fullmatch(b64decode(text, validate=True).decode()) is not None
    except ValueError:
        return False


def _has_one_value_each(text: str) -> bool:
    try:
        members = parse_strict(text.encode("utf-8", "replace"))
    except ValidationError:
        return False
    if not isinstance(members, dict) or len(members) > _MEMBERS_MAX:
        return False
    return all(
        not isinstance(one, list | dict) and (not isinstance(one, str) or not one or _ONE_VALUE.fullmatch(one))
        for one in members.values()
    )


def _store(section: Section) -> SecretStore:
    section.only("hosts", "named", "paths", "field")
    hosts, named = (section.strings(one) if one in section.members else [] for one in ("hosts", "named"))
    return SecretStore(tuple(hosts), frozenset(named), tuple(section.strings("paths")), section.text("field"))
