"""Writes to a store of secrets (Vault, the secret managers of clouds), where a password or a key is to be.

A few values without a form of a vendor, in the field that the store keeps; a copy of everything that a program knows is
more. ``config/detectors/secret_stores.yaml`` is the table.
"""

from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.model import Finding
from headgate.kernel.canonical_json import JsonObject

_KINDS: Final = frozenset(("password", "token"))
_SECRETS_MAX: Final = 3
_WRITES: Final = frozenset(("POST", "PUT", "PATCH"))


class SecretStore(Struct, frozen=True):
    """``hosts``, ``paths``: patterns; of a path, ``*`` is any number of segments. ``field``: of the body."""

    hosts: tuple[str, ...]
    paths: tuple[str, ...]
    field: str

    def keeps(self, host: str, path: str) -> bool:
        return any(fnmatchcase(host, one) for one in self.hosts) and any(fnmatchcase(path, one) for one in self.paths)


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
    return any(
        one.keeps(host, path) and all(_is_in(found, f"$.body.{one.field}") for found in findings)
        for one in secret_stores()
    )


def _is_in(found: Finding, field: str) -> bool:
    path = found.place.path
    return found.kind in _KINDS and (path == field or path.startswith((f"{field}.", f"{field}[")))


def _store(section: Section) -> SecretStore:
    section.only("hosts", "paths", "field")
    return SecretStore(tuple(section.strings("hosts")), tuple(section.strings("paths")), section.text("field"))
