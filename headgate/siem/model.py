"""Where an organization's events are streamed to, as ``PUT /admin/settings/siem`` says.

::

    {"destinations": {"splunk": {"address": "https://siem.example/ingest", "authorization": "Bearer …"},
                      "syslog": {"address": "syslog+tls://logs.example:6514", "enabled": true},
                      "kept": {"address": "file:"}}}

``syslog+tls``, ``syslog+tcp``: RFC 5424 messages, octet-counted (RFC 6587, section 3.4.1; RFC 5425 over TLS).
``https``, ``http``: lines of JSON by POST; any 2xx means taken. ``file:``: a file in the folder that the operator has
set aside, whose name nobody chooses. ``authorization`` is written and never shown.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.outgoing.target import parse_target

MOST_DESTINATIONS: Final = 10
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MEMBERS: Final = frozenset({"address", "enabled", "authorization", "from"})
_AUTHORIZATION: Final = re.compile(r"[\x20-\x7e]{1,4096}")
_SYSLOG_PORTS: Final = {"syslog+tls": 6514, "syslog+tcp": 601}  # RFC 5425, section 4.1; RFC 3195
FROM: Final = ("now", "beginning")


class DestinationKind(StrEnum):
    SYSLOG_TLS = "syslog+tls"
    SYSLOG_TCP = "syslog+tcp"
    HTTP = "http"
    FILE = "file"


class Destination(Struct, frozen=True):
    """``host`` and ``port`` are syslog's; ``starts_at`` says what a new destination gets first: now or beginning."""

    name: str
    kind: DestinationKind
    address: str
    enabled: bool = True
    starts_at: str = "now"
    host: str = ""
    port: int = 0

    def record(self) -> JsonObject:
        """As it is stored, recorded and shown."""
        return {"address": self.address, "enabled": self.enabled, "from": self.starts_at}


class Draft(Struct, frozen=True):
    """``secrets``: the authorizations that were given, by destination; what is left out stays as it was."""

    destinations: Mapping[str, Destination]
    secrets: Mapping[str, Secret]


def vault_name(destination: str) -> str:
    return f"siem/{destination}/authorization"


def parse_destinations(document: JsonValue) -> Draft:
    """Raises ValidationError, which names the member and shows no secret."""
    given = document.get("destinations") if isinstance(document, dict) else None
    if not isinstance(document, dict) or set(document) != {"destinations"} or not isinstance(given, dict):
        raise _fault("destinations", 'the document is {"destinations": {NAME: {"address": …}}}')
    if len(given) > MOST_DESTINATIONS:
        raise _fault("destinations", f"at most {MOST_DESTINATIONS}")
    found, secrets = {}, {}
    for name, entry in given.items():
        found[name] = _destination(name, entry)
        authorization = entry.get("authorization") if isinstance(entry, dict) else None
        if authorization is not None:
            secrets[name] = _secret(found[name], authorization)
    return Draft(found, secrets)


def _destination(name: str, entry: JsonValue) -> Destination:
    field = f"destinations.{name[:64]}"
    if _NAME.fullmatch(name) is None:
        raise _fault("destinations", "a name is of lower-case letters, digits, - and _, and at most 64 long")
    if not isinstance(entry, dict) or not set(entry) <= _MEMBERS:
        raise _fault(field, f"an object of {', '.join(sorted(_MEMBERS))}")
    address, enabled, starts_at = entry.get("address"), entry.get("enabled", True), entry.get("from", "now")
    if not isinstance(address, str):
        raise _fault(f"{field}.address", "a text is needed")
    if not isinstance(enabled, bool):
        raise _fault(f"{field}.enabled", "true or false")
    if starts_at not in FROM:
        raise _fault(f"{field}.from", f"one of {', '.join(FROM)}")
    kind, host, port = _place(f"{field}.address", address)
    return Destination(name, kind, address, enabled, str(starts_at), host, port)


def _place(field: str, address: str) -> tuple[DestinationKind, str, int]:
    if address == "file:":
        return DestinationKind.FILE, "", 0
    scheme = address.partition("://")[0]
    try:
        if scheme in ("http", "https"):
            target = parse_target(address)
            return DestinationKind.HTTP, target.host, target.port
        if scheme in _SYSLOG_PORTS:
            parts = urlsplit(address)
            if parts.path not in ("", "/") or parts.query or parts.fragment:
                raise _fault(field, "a syslog address has a host and a port, and nothing else")
            # The host is read by the same rules as every other that is called.
            target = parse_target(
                f"https://{parts.netloc if parts.port else f'{parts.netloc}:{_SYSLOG_PORTS[scheme]}'}/"
            )
            return DestinationKind(scheme), target.host, target.port
    except ValueError as error:
        raise _fault(field, str(error)) from error
    except ValidationError as error:
        raise _fault(field, error.message) from error
    raise _fault(field, "it begins with syslog+tls://, syslog+tcp://, https:// or http://, or is file:")


def _secret(destination: Destination, value: JsonValue) -> Secret:
    field = f"destinations.{destination.name}.authorization"
    if destination.kind is not DestinationKind.HTTP:
        raise _fault(field, "only an HTTP destination has one")
    if not isinstance(value, str) or _AUTHORIZATION.fullmatch(value) is None:
        raise _fault(field, "the value of the header Authorization, in printable ASCII")
    return Secret(value)


def _fault(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field}: {reason}", details={"field": field, "reason": reason})
