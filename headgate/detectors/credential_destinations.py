"""Credentials that a destination expects: ``config/detectors/credential_destinations.yaml``, ``log_ins.yaml`` for
services that companies run themselves, ``secret_stores.yaml``, and ``token_endpoints.yaml`` for JSON web tokens that
say themselves whose they are.

Without this table, signing in would be a finding. Policies except header fields themselves (``scope.except_headers``).
"""

import re
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.called_hosts import is_at, tls_destination
from headgate.detectors.log_in_bodies import WITHOUT_VENDOR
from headgate.detectors.log_ins import is_log_in
from headgate.detectors.model import Finding, Place
from headgate.detectors.secret_stores import is_kept
from headgate.detectors.service_hosts import fits_host
from headgate.detectors.token_endpoints import without_returned
from headgate.kernel.canonical_json import JsonValue

_QUERY: Final = "$.http.query"
_PARAMETER: Final = re.compile(
    r"\$\.(?:http\.query(?:\.([A-Za-z0-9_]+)|\['([^']+)'\])(?:\[[0-9]+\])?|body(?:\.([A-Za-z0-9_]+)|\['([^']+)'\])\[[0-9]+\])"
)
_WITHOUT_FORM: Final = "token"
"""The kind of a key that no vendor's form tells."""


class _Destination(Struct, frozen=True):
    """A host, or a pattern of one, and what the path begins with."""

    host: str
    path: str

    def holds(self, host: str, path: str) -> bool:
        below = is_at(host, self.host) or ("*" in self.host and fits_host(host, self.host))
        return below and (path == self.path or path.startswith(f"{self.path}/") or not self.path)


type _ByVendor = tuple[tuple[str, tuple[_Destination, ...]], ...]


class CredentialDestinations(Struct, frozen=True):
    """By the vendor, which the names of its kinds of credentials begin with. ``keyed``: hosts that take a key without
    a form in a parameter with one of ``keyed_names``."""

    sign_in: _ByVendor
    query: _ByVendor
    keyed: tuple[_Destination, ...]
    keyed_names: frozenset[str]


@cache
def credential_destinations() -> CredentialDestinations:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "credential_destinations.yaml"))
    document.only("sign_in", "query", "keyed", "keyed_names")
    return CredentialDestinations(
        _by_vendor(document.section("sign_in")),
        _by_vendor(document.section("query")),
        tuple(map(_parsed, document.strings("keyed"))),
        frozenset(document.strings("keyed_names")),
    )


def without_expected(findings: tuple[Finding, ...], value: JsonValue) -> tuple[Finding, ...]:
    """The findings in a call (``value``) that its destination does not expect."""
    where = tls_destination(value) if findings else None
    if where is None:
        return findings
    findings = without_returned(findings, value, *where)
    known = credential_destinations()
    sign_in, query = _own_kinds(known.sign_in, *where), _own_kinds(known.query, *where)
    names = known.keyed_names if any(one.holds(*where) for one in known.keyed) else frozenset[str]()
    findings = tuple(
        one
        for one in findings
        if not (
            one.kind.startswith(sign_in)
            or (sign_in and one.kind in WITHOUT_VENDOR)
            or (one.kind.startswith(query) and one.place.path.startswith(_QUERY))
            or (one.kind == _WITHOUT_FORM and _parameter_of(one.place) in names)
        )
    )
    if isinstance(value, dict) and (is_log_in(findings, value, *where) or is_kept(findings, value, *where)):
        return ()
    return findings


def _parameter_of(place: Place) -> str:
    """The name, in lower case, of the parameter of the query or of a form whose value was found as it stands."""
    found = None if place.steps else _PARAMETER.fullmatch(place.path)
    return "" if found is None else str(next(filter(None, found.groups()))).lower()


def _own_kinds(table: _ByVendor, host: str, path: str) -> tuple[str, ...]:
    """What the kinds of the vendors' own credentials begin with."""
    return tuple(f"{vendor}_" for vendor, destinations in table if any(one.holds(host, path) for one in destinations))


def _by_vendor(section: Section) -> _ByVendor:
    return tuple((vendor, tuple(map(_parsed, section.strings(vendor)))) for vendor in section.members)


def _parsed(text: str) -> _Destination:
    host, slash, path = text.partition("/")
    return _Destination(host, slash + path)
