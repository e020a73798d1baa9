"""The body of a log-in: fields with one short value each, whose names are on a closed list."""

import re
from collections.abc import Iterator, Mapping, Set
from typing import Final

from msgspec import Struct

from headgate.detectors.model import Finding
from headgate.kernel.canonical_json import JsonObject, JsonValue

WEB_TOKENS: Final = frozenset(("json_web_token", "jwt"))
WITHOUT_VENDOR: Final = WEB_TOKENS | {"password", "token"}
"""Kinds of credentials that do not say whose they are."""
TEXT_MAX: Final = 256
"""Of a field that is no credential."""
_FIELD: Final = re.compile(r"\$\.body((?:\.[A-Za-z0-9_]+|\['[^'\]]+'\])+)(?:\[0\])?")
_NAME: Final = re.compile(r"\.([A-Za-z0-9_]+)|\['([^'\]]+)'\]")
_JSON_RPC: Final = frozenset(("jsonrpc", "id", "method"))
_STATE_MAX: Final = 512
_PASSWORD_MAX: Final = 128
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=|!*$:%-]{0,4096}")
"""In one run: RFC 6750, section 2.1, and the signs that vendors add. A list of tokens has others between them."""
_SECRETS_MAX: Final = 2
_FIELDS_MAX: Final = 48
_DEPTH_MAX: Final = 6


class FieldNames(Struct, frozen=True):
    """Names in lower case; of a member of an object with its path (``data.password``; ``data.*``: all members).

    - ``secrets`` hold a password. It is a log-in only beside one of ``users``.
    - ``alone`` hold a token, which says by itself whose it is.
    - ``of_programs`` hold the secret of the program that signs in, which may stand beside one of the two.
    - ``states`` hold what the server gave in the step before: short, and no finding.
    - ``beside``: what else such a body has.
    """

    secrets: frozenset[str]
    alone: frozenset[str]
    of_programs: frozenset[str]
    users: frozenset[str]
    states: frozenset[str]
    beside: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.secrets | self.alone | self.of_programs | self.users | self.states | self.beside

    def takes(self, name: str) -> bool:
        """Whether it may stand beside the secret."""
        if any(name in one for one in (self.beside, self.users, self.of_programs, self.alone, self.states)):
            return True
        around, dot, _ = name.rpartition(".")
        return bool(dot) and f"{around}.*" in self.beside


class LogIn(Struct, frozen=True):
    """``fields``: each with its value. ``found``: the names of those that are findings; ``web_tokens``: of those that
    are JSON web tokens."""

    fields: Mapping[str, str]
    found: Set[str]
    web_tokens: Set[str]

    def fits(self, names: FieldNames) -> bool:
        """Whether it has one credential, and beside it only what these names are for."""
        if not all(self._is_one_value(name, names) for name in self.fields):
            return False
        if not all(map(names.takes, self.fields.keys() - self.found)):
            return False
        if self.found & names.states or self.web_tokens & names.secrets:
            return False
        # A program may sign in for itself: then its secret is the credential.
        credential = self.found - names.of_programs or self.found
        if len(credential) > 1 or len(self.found) > _SECRETS_MAX:
            return False
        says_who = bool(self.fields.keys() & names.users - credential)
        return credential <= names.alone or (credential <= names.secrets and says_who)

    def _is_one_value(self, name: str, names: FieldNames) -> bool:
        """Whether the field has one value of its sort, and not a list of credentials behind the first."""
        text = self.fields[name]
        if name in names.alone or name in names.of_programs:
            return _TOKEN.fullmatch(text) is not None
        if name in names.secrets or name in self.found:
            return len(text) <= _PASSWORD_MAX and text.isprintable()
        return len(text) <= (_STATE_MAX if name in names.states else TEXT_MAX)


def log_in_of(findings: tuple[Finding, ...], body: JsonValue) -> LogIn | None:
    """None: the body has something else, or a finding is no field of its own there."""
    kinds = {_name_of(one): one.kind for one in findings if one.kind in WITHOUT_VENDOR and not one.place.steps}
    found = {name: kind for name, kind in kinds.items() if name is not None}
    if not isinstance(body, dict) or len(found) < len(findings):
        return None
    parameters = body.get("params")  # JSON-RPC 2.0, section 4
    if isinstance(parameters, dict) and body.keys() - {"params"} <= _JSON_RPC:
        around = [member for name, member in body.items() if name != "params"]
        if any(len(str(member)) > TEXT_MAX or isinstance(member, dict | list) for member in around):
            return None
        body, found = parameters, {name.removeprefix("params."): kind for name, kind in found.items()}
    fields = _fields(body)
    if fields is None or not found.keys() <= fields.keys():
        return None
    return LogIn(fields, found.keys(), {name for name, kind in found.items() if kind in WEB_TOKENS})


def _name_of(finding: Finding) -> str | None:
    """Of the field of the body that it is in. Unusual names are masked in its place; there may be no span."""
    if finding.span is None:
        parsed = _FIELD.fullmatch(finding.place.path)
        return None if parsed is None else ".".join(one or other for one, other in _NAME.findall(parsed[1])).lower()
    first, *way = finding.span.path
    if way[-1:] == [0]:
        way.pop()
    if first != "body" or not way or not all(isinstance(one, str) for one in way):
        return None
    return ".".join(map(str, way)).lower()


def _fields(body: JsonObject) -> dict[str, str] | None:
    """None: a field has more than one value, or two have one name but for the case."""
    fields = dict[str, str]()
    for name, text in _members(body, "", 1):
        if text is None or name in fields or len(fields) >= _FIELDS_MAX:
            return None
        fields[name] = text
    return fields


def _members(value: JsonObject, around: str, depth: int) -> Iterator[tuple[str, str | None]]:
    for name, member in value.items():
        whole = f"{around}{name.lower()}"
        one = member[0] if isinstance(member, list) and len(member) == 1 else member
        if isinstance(one, dict) and not all(isinstance(switch, bool) for switch in one.values()):
            if depth >= _DEPTH_MAX:
                yield whole, None
            else:
                yield from _members(one, f"{whole}.", depth + 1)
        else:
            yield whole, _text(one)


def _text(member: JsonValue) -> str | None:
    """Of a field with one value, or of one with switches, as Okta's ``options``; None: of anything else."""
    if isinstance(member, bool | int | dict) or member is None:
        return ""
    return member if isinstance(member, str) else None
