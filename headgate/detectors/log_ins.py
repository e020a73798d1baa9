"""Log-ins at a service that the call itself addresses: own Grafana, Argo CD, Home Assistant, a tenant at Okta.

One password or token, and the secret of the program that signs in, in the fields and at the path where the product
takes them, and nothing else: the service that they are for is where they go. ``config/detectors/log_ins.yaml`` is the
table.
"""

from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.log_in_bodies import FieldNames, log_in_of
from headgate.detectors.model import Finding
from headgate.detectors.public_hosts import is_public
from headgate.detectors.service_hosts import fits_host, label_names
from headgate.kernel.canonical_json import JsonObject, JsonValue

_LISTS: Final = ("secrets", "alone", "of_programs", "users", "states", "beside")
_PLACES: Final = ("hosts", "named", "paths", "query")
_TEXT_MAX: Final = 256


class Product(Struct, frozen=True):
    """``hosts``: patterns of its tenants. ``named``: words of the first label that name it. ``*`` in ``paths`` is one
    segment. ``query``: names of parameters that it takes there."""

    hosts: tuple[str, ...]
    named: frozenset[str]
    paths: tuple[str, ...]
    query: frozenset[str]
    names: FieldNames

    def takes(self, host: str, path: str) -> bool:
        is_path = any(path.count("/") == one.count("/") and fnmatchcase(path, one) for one in self.paths)
        return is_path and (any(fits_host(host, one) for one in self.hosts) or _is_own_service(host, self.named))


@cache
def log_ins() -> tuple[Product, ...]:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "log_ins.yaml"))
    document.only(*_LISTS, "products")
    products, names = document.section("products"), _names(document, None)
    return tuple(_product(products.section(one), names) for one in products.members)


def _is_own_service(host: str, named: frozenset[str]) -> bool:
    """Whether a host of one's own may run the product that the words name: in one's own network it needs no name."""
    return bool(named) and (not is_public(host) or label_names(host, named))


def is_log_in(findings: tuple[Finding, ...], value: JsonObject, host: str, path: str) -> bool:
    """Whether ``findings``, all of a call over TLS, are the credentials of one log-in at this host and path."""
    http = value.get("http")
    if not findings or not isinstance(http, dict) or http.get("method") != "POST":
        return False
    log_in = log_in_of(findings, value.get("body"))
    if log_in is None:
        return False
    path, query = path.rstrip("/") or "/", http.get("query")
    return any(log_in.fits(one.names) and _is_short(query, one.query) for one in log_ins() if one.takes(host, path))


def _is_short(query: JsonValue, names: frozenset[str]) -> bool:
    """Whether it has only these parameters, each with one short value."""
    if not query:
        return True
    return isinstance(query, dict) and all(
        name.lower() in names and isinstance(texts, list) and len(texts) == 1 and len(str(texts[0])) <= _TEXT_MAX
        for name, texts in query.items()
    )


def _names(section: Section, shared: FieldNames | None) -> FieldNames:
    """``shared``: what is taken everywhere, to which a product adds."""
    own = {one: frozenset(section.strings(one) if one in section.members else ()) for one in _LISTS}
    return FieldNames(**{one: names | getattr(shared, one, frozenset()) for one, names in own.items()})


def _product(section: Section, shared: FieldNames) -> Product:
    section.only(*_PLACES, *_LISTS)
    hosts, named, query = (
        section.strings(one) if one in section.members else [] for one in ("hosts", "named", "query")
    )
    return Product(
        tuple(hosts), frozenset(named), tuple(section.strings("paths")), frozenset(query), _names(section, shared)
    )
