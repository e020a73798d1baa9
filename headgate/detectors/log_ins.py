"""Log-ins at a service that the call itself addresses: own Grafana, Argo CD, Home Assistant, a tenant at Okta.

One password or token, and the secret of the program that signs in, in the fields and at the path where the product
takes them, and nothing else: the service that they are for is where they go. ``config/detectors/log_ins.yaml`` is the
table.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.log_in_bodies import FieldNames, LogIn, log_in_of
from headgate.detectors.model import Finding
from headgate.detectors.public_hosts import is_public
from headgate.detectors.service_hosts import fits_host, label_names
from headgate.kernel.canonical_json import JsonObject, JsonValue

_LISTS: Final = ("secrets", "alone", "of_programs", "users", "states", "beside")
_PLACES: Final = ("hosts", "named", "paths", "query")
_TEXT_MAX: Final = 256
_DOMAIN_PART: Final = re.compile(r"(?i)(?:^|,) *dc=([a-z0-9-]+)")
_WHOLE_DOMAIN: Final = re.compile(r"(?:[a-z0-9-]+\.)+[a-z0-9-]+")


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
    """``doors``: last segments of paths where a service takes users of its own domain, with ``own_names`` for fields.
    ``elsewhere``: hosts that anyone has at once."""

    products: tuple[Product, ...]
    doors: frozenset[str]
    own_names: FieldNames
    elsewhere: tuple[str, ...]


@cache
def log_ins() -> LogIns:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "log_ins.yaml"))
    document.only(*_LISTS, "own", "elsewhere", "products")
    products, own, names = document.section("products"), document.section("own"), _names(document, None)
    own.only(*_LISTS, "doors")
    return LogIns(
        products=tuple(_product(products.section(one), names) for one in products.members),
        doors=frozenset(own.strings("doors")),
        own_names=_names(own, names),
        elsewhere=tuple(f".{one}" for one in document.strings("elsewhere")),
    )


def is_elsewhere(host: str) -> bool:
    """Whether anyone has a host there at once."""
    return host.endswith(log_ins().elsewhere)


def is_own_service(host: str, named: frozenset[str]) -> bool:
    """Whether a host of one's own may run the product that the words name: in one's own network it needs no name."""
    return bool(named) and (not is_public(host) or (label_names(host, named) and not is_elsewhere(host)))


def is_log_in(findings: tuple[Finding, ...], value: JsonObject, host: str, path: str) -> bool:
    """Whether ``findings``, all of a call over TLS, are the credentials of one log-in at this host and path."""
    http, known = value.get("http"), log_ins()
    if not findings or not isinstance(http, dict) or http.get("method") != "POST":
        return False
    log_in = log_in_of(findings, value.get("body"))
    if log_in is None:
        return False
    path, query = path.rstrip("/") or "/", http.get("query")
    if any(log_in.fits(one.names) and _is_short(query, one.query) for one in known.products if one.takes(host, path)):
        return True
    return (
        not query
        and not is_elsewhere(host)
        and not _last_words(path).isdisjoint(known.doors)
        and _is_own(log_in, known.own_names, host)
    )


def _is_own(log_in: LogIn, names: FieldNames, host: str) -> bool:
    """Whether the user is of the domain to which the host belongs: a stranger who gets the agent to sign in at his own
    host gets another domain's user."""
    domains = {domain for user in log_in.users(names) for domain in _domains_of(user)}
    return any(f".{host}".endswith(f".{one}") for one in domains) and log_in.fits(names)


def _domains_of(user: str) -> Iterator[str]:
    """Of a mail address, and of a distinguished name (RFC 2247, section 2)."""
    parts = _DOMAIN_PART.findall(user)
    domain = (".".join(parts) if parts else user.rpartition("@")[2]).lower()
    if (parts or "@" in user) and _WHOLE_DOMAIN.fullmatch(domain) is not None:
        yield domain


def _last_words(path: str) -> frozenset[str]:
    last = path.rpartition("/")[2].lower()
    return frozenset((last, last.partition(".")[0]))


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
