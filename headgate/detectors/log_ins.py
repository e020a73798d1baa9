"""Log-ins at a service that the call itself addresses: own Grafana, Argo CD, Home Assistant, a tenant at Okta.

One password or token, in the field and at the path where the product takes it, and nothing else: the service that the
password is for is where it goes. ``config/detectors/log_ins.yaml`` is the table.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.model import Finding
from headgate.kernel.canonical_json import JsonObject, JsonValue

_KINDS: Final = frozenset(("password", "token", "json_web_token", "jwt"))
_FIELD: Final = re.compile(r"\$\.body\.([A-Za-z0-9_]+)(?:\[0\])?")
_TEXT_MAX: Final = 256
_SECRET_MAX: Final = 4096
_WORD_BREAK: Final = re.compile(r"[-_]|[0-9]+$")
_REGISTERED_LABELS: Final = 2
_TOP_LEVELS: Final = frozenset(("com", "net", "org", "io", "tv", "ai", "app"))


@dataclass(frozen=True, slots=True)
class Product:
    """``hosts``: patterns of its tenants. ``named``: words of the first label that name it. ``*`` in
    ``paths`` is one segment."""

    hosts: tuple[str, ...]
    named: frozenset[str]
    paths: tuple[str, ...]

    def takes(self, host: str, path: str) -> bool:
        return self._is_at(host) and any(
            path.count("/") == one.count("/") and fnmatchcase(path, one) for one in self.paths
        )

    def _is_at(self, host: str) -> bool:
        if any(host.count(".") == one.count(".") and fnmatchcase(host, one) for one in self.hosts):
            return True
        first, *others = host.split(".")
        if _TOP_LEVELS.intersection(others[:-_REGISTERED_LABELS]):  # id.vendor.com.evil.example
            return False
        return len(others) >= _REGISTERED_LABELS and not self.named.isdisjoint((first, *_WORD_BREAK.split(first)))


@dataclass(frozen=True, slots=True)
class LogIns:
    """``secrets``: names of fields that take a password or token; ``users``: that take who logs in, without whom a
    password is no log-in; ``beside``: what else stands in such a body. ``elsewhere``: hosts that anyone has at once."""

    products: tuple[Product, ...]
    secrets: frozenset[str]
    users: frozenset[str]
    beside: frozenset[str]
    elsewhere: tuple[str, ...]


@cache
def log_ins() -> LogIns:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "log_ins.yaml"))
    document.only("secrets", "users", "beside", "elsewhere", "products")
    products = document.section("products")
    secrets, users, beside = (frozenset(document.strings(one)) for one in ("secrets", "users", "beside"))
    elsewhere = tuple(f".{one}" for one in document.strings("elsewhere"))
    return LogIns(tuple(_product(products.section(one)) for one in products.members), secrets, users, beside, elsewhere)


def is_log_in(findings: tuple[Finding, ...], value: JsonObject, host: str, path: str) -> bool:
    """Whether ``findings``, all of a call over TLS, are the one credential of a log-in at this host and path."""
    found = _FIELD.fullmatch(findings[0].place.path) if len(findings) == 1 and not findings[0].place.steps else None
    if found is None or findings[0].kind not in _KINDS:
        return False
    http, body, known = value.get("http"), value.get("body"), log_ins()
    if not isinstance(http, dict) or http.get("method") != "POST" or http.get("query") or not isinstance(body, dict):
        return False
    if host.endswith(known.elsewhere) or not any(one.takes(host, path.rstrip("/")) for one in known.products):
        return False
    return _is_of_log_in(body, found[1], known)


def _is_of_log_in(body: Mapping[str, JsonValue], field: str, known: LogIns) -> bool:
    texts = {name: _text(member) for name, member in body.items()}
    secret = texts.pop(field, None)
    names = frozenset(name.lower() for name in texts)
    if field.lower() not in known.secrets or secret is None or len(secret) > _SECRET_MAX:
        return False
    if any(one is None or len(one) > _TEXT_MAX for one in texts.values()) or not names <= known.beside | known.users:
        return False
    return "token" in field.lower() or not names.isdisjoint(known.users)


def _text(member: JsonValue) -> str | None:
    """Of a field with one value, or of one with switches, as Okta's ``options``; None: of anything else."""
    if isinstance(member, list) and len(member) == 1:
        member = member[0]
    if isinstance(member, dict):
        return "" if all(isinstance(one, bool) for one in member.values()) else None
    if isinstance(member, bool | int) or member is None:
        return ""
    return member if isinstance(member, str) else None


def _product(section: Section) -> Product:
    section.only("hosts", "named", "paths")
    hosts = section.strings("hosts") if "hosts" in section.members else ()
    named = section.strings("named") if "named" in section.members else ()
    return Product(tuple(hosts), frozenset(named), tuple(section.strings("paths")))
