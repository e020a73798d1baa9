"""Log-ins at a service that the call itself addresses: own Grafana, Argo CD, Home Assistant, a tenant at Okta.

One password or token, and the secret of the program that signs in, in the fields and at the path where the product
takes them, and nothing else: the service that they are for is where they go. ``config/detectors/log_ins.yaml`` is the
table.
"""

import re
from collections.abc import Iterable, Mapping, Set
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.model import Finding
from headgate.kernel.canonical_json import JsonObject, JsonValue

_KINDS: Final = frozenset(("password", "token", "json_web_token", "jwt"))
_FIELD: Final = re.compile(r"\$\.body(\.params)?\.([A-Za-z0-9_]+)(?:\[0\])?")
_JSON_RPC: Final = frozenset(("jsonrpc", "id", "method"))
_TEXT_MAX: Final = 256
_SECRET_MAX: Final = 4096
_SECRETS_MAX: Final = 2
_WORD_BREAK: Final = re.compile(r"[-_]|[0-9]+$")
_REGISTERED_LABELS: Final = 2
_TOP_LEVELS: Final = frozenset(("com", "net", "org", "io", "tv", "ai", "app"))


class Product(Struct, frozen=True):
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
        return label_names(host, self.named)


def label_names(host: str, words: frozenset[str]) -> bool:
    """Whether the first label of a host below somebody's domain is one of the words, or has it between its hyphens."""
    first, *others = host.split(".")
    if _TOP_LEVELS.intersection(others[:-_REGISTERED_LABELS]):  # id.vendor.com.evil.example
        return False
    return len(others) >= _REGISTERED_LABELS and not words.isdisjoint((first, *_WORD_BREAK.split(first)))


class LogIns(Struct, frozen=True):
    """Names of fields. ``secrets`` take a password, no log-in without one of ``users``; ``alone`` take a token;
    ``of_programs``: the secret of who signs in for a user, beside one of them; ``beside``: what else such a body has.
    ``elsewhere``: hosts that anyone has at once."""

    products: tuple[Product, ...]
    secrets: frozenset[str]
    alone: frozenset[str]
    of_programs: frozenset[str]
    users: frozenset[str]
    beside: frozenset[str]
    elsewhere: tuple[str, ...]


@cache
def log_ins() -> LogIns:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "log_ins.yaml"))
    document.only("secrets", "alone", "of_programs", "users", "beside", "elsewhere", "products")
    products = document.section("products")
    return LogIns(
        products=tuple(_product(products.section(one)) for one in products.members),
        secrets=frozenset(document.strings("secrets")),
        alone=frozenset(document.strings("alone")),
        of_programs=frozenset(document.strings("of_programs")),
        users=frozenset(document.strings("users")),
        beside=frozenset(document.strings("beside")),
        elsewhere=tuple(f".{one}" for one in document.strings("elsewhere")),
    )


def is_log_in(findings: tuple[Finding, ...], value: JsonObject, host: str, path: str) -> bool:
    """Whether ``findings``, all of a call over TLS, are the credentials of one log-in at this host and path."""
    http, known = value.get("http"), log_ins()
    if not isinstance(http, dict) or http.get("method") != "POST" or http.get("query"):
        return False
    if host.endswith(known.elsewhere) or not any(one.takes(host, path.rstrip("/")) for one in known.products):
        return False
    found = _fields_of(findings, value.get("body"))
    return found is not None and _is_of_log_in(*found, known)


def _fields_of(findings: tuple[Finding, ...], body: JsonValue) -> tuple[Mapping[str, JsonValue], Set[str]] | None:
    """The body, or the parameters of a JSON-RPC call in it, and the fields that the findings are; None: a finding is
    no field of its own there."""
    found = [_FIELD.fullmatch(one.place.path) for one in findings if one.kind in _KINDS and not one.place.steps]
    names = {one[2] for one in found if one is not None}
    objects = {one[1] for one in found if one is not None}
    if len(names) < len(findings) or len(objects) != 1 or not isinstance(body, dict):
        return None
    if objects == {None}:
        return body, names
    params = body.get("params")  # JSON-RPC 2.0, section 4
    around = {name: _text(member) for name, member in body.items() if name != "params"}
    if not isinstance(params, dict) or not around.keys() <= _JSON_RPC or not _are_short(around.values()):
        return None
    return params, names


def _is_of_log_in(body: Mapping[str, JsonValue], fields: Set[str], known: LogIns) -> bool:
    texts = {name: _text(member) for name, member in body.items()}
    secrets = [texts.pop(field, None) for field in fields]
    if any(one is None or len(one) > _SECRET_MAX for one in secrets) or not _are_short(texts.values()):
        return False
    others = frozenset(name.lower() for name in texts)
    if not others <= known.beside | known.users | known.of_programs | known.alone:
        return False
    names = {field.lower() for field in fields}
    whose = names - known.of_programs or names
    if len(whose) > 1 or len(fields) > _SECRETS_MAX or len(names) < len(fields):
        return False
    return whose <= known.alone or (whose <= known.secrets and not others.isdisjoint(known.users))


def _are_short(texts: Iterable[str | None]) -> bool:
    return all(one is not None and len(one) <= _TEXT_MAX for one in texts)


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
