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
from headgate.detectors.log_in_bodies import TEXT_MAX, FieldNames, log_in_of
from headgate.detectors.model import Finding
from headgate.detectors.service_hosts import fits_host, is_own_service
from headgate.kernel.canonical_json import JsonObject, JsonValue

_LISTS: Final = ("secrets", "alone", "of_programs", "users", "states", "beside")
_PLACES: Final = ("hosts", "named", "paths", "query")


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
        return is_path and (any(fits_host(host, one) for one in self.hosts) or is_own_service(host, self.named))


class LogIns(Struct, frozen=True):
    """``names``: what every product takes."""

    products: tuple[Product, ...]
    names: FieldNames


@cache
def log_ins() -> LogIns:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "log_ins.yaml"))
    document.only(*_LISTS, "products")
    products, names = document.section("products"), _names(document, None)
    return LogIns(tuple(_product(products.section(one), names) for one in products.members), names)


def is_log_in(findings: tuple[Finding, ...], value: JsonObject, host: str, path: str) -> bool:
    """Whether ``findings``, all of a call over TLS, are the credentials of one log-in at this host and path."""
    http = value.get("http")
    if not findings or not isinstance(http, dict) or http.get("method") != "POST":
        return False
    log_in = log_in_of(findings, value.get("body"))
    if log_in is None:
        return False
    path, query = path.rstrip("/") or "/", http.get("query")
    return any(
        log_in.fits(one.names) and _is_short(query, one.query) for one in log_ins().products if one.takes(host, path)
    )


def _is_short(query: JsonValue, names: frozenset[str]) -> bool:
    """Whether it has only these parameters, each with one short value."""
    if not query:
        return True
    return isinstance(query, dict) and all(
        name.lower() in names and isinstance(texts, list) and len(texts) == 1 and len(str(texts[0])) <= TEXT_MAX
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
