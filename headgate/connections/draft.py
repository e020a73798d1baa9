"""What a person asks for when they make a connection, read into what can be kept. Errors never show a secret."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from msgspec import Struct

from headgate.connections.credential import SECRET_LENGTH_MIN
from headgate.connections.model import ANY, AUTHORIZATION, ConnectionKind, Host, Location, Place
from headgate.kernel.call_name import fits
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.kernel.secrets import Secret
from headgate.organizations.ports import BAD_PORTS
from headgate.outgoing.target import parse_target
from headgate.protocols.http_call import normalise_host

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_MEMBER: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_VALUE_MAX: Final = 16 * 1024
_HOSTS_MAX: Final = 32
_NOT_A_PLACE: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect", "content-type"}
    | {"content-encoding", "accept-encoding", "range", "if-range"}
)
# What each kind keeps secret, and what it needs to know beside that.
_SECRETS: Final[Mapping[ConnectionKind, tuple[frozenset[str], frozenset[str]]]] = {
    ConnectionKind.API_KEY: (frozenset({"secret"}), frozenset()),
    ConnectionKind.BEARER: (frozenset({"secret"}), frozenset()),
    ConnectionKind.BASIC: (frozenset({"user", "password"}), frozenset()),
    ConnectionKind.CLIENT_CREDENTIALS: (frozenset({"client_secret"}), frozenset()),
    ConnectionKind.AWS_SIGV4: (frozenset({"access_key_id", "secret_access_key"}), frozenset({"session_token"})),
    ConnectionKind.MTLS: (frozenset({"certificate", "private_key"}), frozenset()),
}
_SETTINGS: Final[Mapping[ConnectionKind, tuple[frozenset[str], frozenset[str]]]] = {
    ConnectionKind.CLIENT_CREDENTIALS: (frozenset({"client_id", "token_url"}), frozenset({"client_authentication"})),
    ConnectionKind.AWS_SIGV4: (frozenset({"region", "service"}), frozenset()),
}
_OF_ALL: Final = frozenset({"check_path"})
_PEM: Final = frozenset({"certificate", "private_key"})
_MAY_BE_SHORT: Final = frozenset({"user", "password"})


class ConnectionDraft(Struct, frozen=True):
    name: str
    platform: str
    kind: ConnectionKind
    hosts: tuple[Host, ...]
    place: Place
    agents: frozenset[str]
    tools: frozenset[str]
    needs_placeholder: bool
    account: str | None
    scopes: tuple[str, ...]
    settings: JsonObject
    secrets: Mapping[str, Secret]


def invalid(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field}: {reason}", details={"field": field, "reason": reason})


def parse_name(name: str) -> str:
    if not fits(name):
        raise invalid("name", "must match ^[a-z][a-z0-9_]*$ and be 1 to 64 characters long")
    return name


def parse_hosts(hosts: Sequence[str]) -> tuple[Host, ...]:
    """Exact names or addresses, each with its port (443 where none is written)."""
    if not 1 <= len(hosts) <= _HOSTS_MAX:
        raise invalid("hosts", f"1 to {_HOSTS_MAX} are expected")
    return tuple(dict.fromkeys(_host(text) for text in hosts))


def _host(text: str) -> Host:
    if not text.isascii():
        raise invalid("hosts", "write the name in its ASCII form (xn--…): Unicode names can look alike")
    try:
        target = parse_target(f"https://{text}")
        if target.path != b"/" or "/" in text or "?" in text:
            raise invalid("hosts", "a host, or host:port, without a path")
        if text.rpartition(":")[0].endswith(".") or text.endswith("."):
            raise invalid("hosts", "write the name without the trailing dot")
        host = normalise_host(target.host)
    except AmbiguousRequestError as error:
        raise invalid("hosts", error.message) from error
    except ValidationError as error:
        raise invalid("hosts", str((error.details or {}).get("reason", error.message))) from error
    if target.port in BAD_PORTS:
        raise invalid("hosts", f"port {target.port} belongs to another protocol")
    return Host(host, target.port)


def parse_place(kind: ConnectionKind, location: str, name: str, prefix: str) -> Place:
    if kind is not ConnectionKind.API_KEY:
        return AUTHORIZATION
    try:
        where = Location(location)
    except ValueError as error:
        raise invalid("place.in", "header, query or body") from error
    pattern = _TOKEN if where is Location.HEADER else _MEMBER
    if pattern.fullmatch(name) is None or (where is Location.HEADER and name.lower() in _NOT_A_PLACE):
        raise invalid("place.name", f"not the name of a {where.value} that can carry a credential")
    if len(prefix) > 64 or not (prefix.isascii() and prefix.isprintable()):
        raise invalid("place.prefix", "must be at most 64 characters of visible ASCII")
    return Place(where, name.lower() if where is Location.HEADER else name, prefix)


def parse_agents(agents: Sequence[str]) -> frozenset[str]:
    return frozenset(
        one if one == ANY else parse_id(IdPrefix.AGENT, one, f"agents[{number}]") for number, one in enumerate(agents)
    )


def parse_tools(tools: Sequence[str]) -> frozenset[str]:
    for one in tools:
        if one != ANY and not fits(one):
            raise invalid("tools", "names of tools, or * for all")
    return frozenset(tools)


def parse_secrets(kind: ConnectionKind, given: Mapping[str, str]) -> Mapping[str, Secret]:
    if kind not in _SECRETS:
        raise invalid("kind", f"use OAuth, or the route of the platform, for kind {kind.value}")
    needed, possible = _SECRETS[kind]
    for name in given.keys() - needed - possible:
        raise invalid(f"credentials.{name[:64]}", f"unknown: {kind.value} has {', '.join(sorted(needed | possible))}")
    for name in sorted(needed - given.keys()):
        raise invalid(f"credentials.{name}", "is required")
    secrets = {name: Secret(_value(name, value)) for name, value in given.items()}
    if kind is ConnectionKind.BASIC:
        user, password = given["user"], given["password"]
        if ":" in user:
            raise invalid("credentials.user", "contains a colon (RFC 7617, section 2)")
        if len(password or user) < SECRET_LENGTH_MIN:
            raise invalid("credentials.password", f"must have at least {SECRET_LENGTH_MIN} characters")
    if kind is ConnectionKind.MTLS:
        _check_pair(given["certificate"], given["private_key"])
    return secrets


def _value(name: str, value: str) -> str:
    field = f"credentials.{name}"
    if len(value) > _VALUE_MAX:
        raise invalid(field, f"is over {_VALUE_MAX} characters")
    if name in _PEM:
        return value
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        raise invalid(field, "must be visible ASCII")
    if name not in _MAY_BE_SHORT and len(value) < SECRET_LENGTH_MIN:
        # A shorter one could not be told from other text when an answer quotes it.
        raise invalid(field, f"must have at least {SECRET_LENGTH_MIN} characters")
    return value


def _check_pair(certificate: str, private_key: str) -> None:
    try:
        shown = x509.load_pem_x509_certificate(certificate.encode()).public_key()
        key = load_pem_private_key(private_key.encode(), None).public_key()
    except (ValueError, TypeError) as error:
        raise invalid("credentials", "certificate and private_key must be PEM, the key without a password") from error
    if shown != key:
        raise invalid("credentials", "the private key does not match the certificate")


def parse_settings(kind: ConnectionKind, given: JsonObject) -> JsonObject:
    needed, possible = _SETTINGS.get(kind, (frozenset(), frozenset()))
    for name in given.keys() - needed - possible - _OF_ALL:
        raise invalid(f"settings.{name[:64]}", "unknown field")
    for name in sorted(needed - given.keys()):
        raise invalid(f"settings.{name}", "is required")
    for name, value in given.items():
        if not isinstance(value, str) or not 1 <= len(value) <= 2048 or not value.isprintable() or not value.isascii():
            raise invalid(f"settings.{name}", "must be visible ASCII")
    if isinstance(url := given.get("token_url"), str):
        parse_secure_url("settings.token_url", url)
    if given.get("client_authentication", "header") not in ("header", "body"):
        raise invalid("settings.client_authentication", "header or body (RFC 6749, section 2.3.1)")
    if isinstance(path := given.get("check_path"), str):
        parse_check_path(path)
    return given


def parse_secure_url(field: str, url: str) -> str:
    try:
        target = parse_target(url)
    except ValidationError as error:
        raise invalid(field, error.message) from error
    if target.scheme != "https":
        raise invalid(field, "must begin with https://")
    return url


def parse_check_path(path: str) -> str:
    try:
        parse_target(f"https://example.com{path}")
    except ValidationError as error:
        raise invalid("settings.check_path", error.message) from error
    if not path.startswith("/"):
        raise invalid("settings.check_path", "must start with /")
    return path
