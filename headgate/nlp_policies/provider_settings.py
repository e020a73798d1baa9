"""The language-model providers of an organization: their addresses in its settings, their keys in the vault."""

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, ip_address
from socket import inet_aton
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from headgate.judges.model import Provider, ProviderKind
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.model import MODEL_MAX_CHARACTERS
from headgate.organizations.addresses import Address
from headgate.organizations.destinations import DestinationRules

PROVIDERS_MAX: Final = 20
_KEY_MAX_CHARACTERS: Final = 4096
_SHOWN_CHARACTERS: Final = 64
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_REMOTE: Final = tuple(one.value for one in ProviderKind if one is not ProviderKind.EMBEDDED)
_MEMBERS: Final = ("kind", "base_url", "api_key", "models", "input_price", "output_price")
_MODELS_MAX: Final = 100
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_DEFAULT_URLS: Final = {
    ProviderKind.OPENAI_COMPATIBLE: "https://api.openai.com/v1",
    ProviderKind.ANTHROPIC: "https://api.anthropic.com",
    ProviderKind.GEMINI: "https://generativelanguage.googleapis.com",
}


class ProviderSetting(Struct, frozen=True):
    """One provider as it is set. ``models``: those that policies may name; none: any. Prices: US dollars for a
    million tokens.
    """

    kind: ProviderKind
    base_url: str
    models: tuple[str, ...]
    input_price: float | None
    output_price: float | None

    def record(self) -> JsonObject:
        return {
            "kind": self.kind.value,
            "base_url": self.base_url,
            "models": list[JsonValue](self.models),
            "input_price": self.input_price,
            "output_price": self.output_price,
        }

    def with_key(self, key: Secret | None, rules: DestinationRules) -> Provider:
        return Provider(self.kind, self.base_url, key, self.input_price, self.output_price, rules)


class ProvidersDraft(Struct, frozen=True):
    """What somebody sets. ``keys``: a new key, or None to forget the one that there is; absent: it stays."""

    providers: dict[str, ProviderSetting]
    keys: dict[str, Secret | None]


def parse_providers(document: JsonValue) -> ProvidersDraft:
    """``{NAME: {kind?, base_url?, api_key?, models?, input_price?, output_price?}}``; a name that is a kind is of that
    kind. Raises ValidationError.
    """
    if not isinstance(document, dict) or len(document) > PROVIDERS_MAX:
        raise _fail("body", f"an object of at most {PROVIDERS_MAX} providers, by their names")
    providers: dict[str, ProviderSetting] = {}
    keys: dict[str, Secret | None] = {}
    for name, entry in document.items():
        where = name[:_SHOWN_CHARACTERS]
        if _NAME.fullmatch(name) is None or name == ProviderKind.EMBEDDED:
            raise _fail(where, "a name is lower case letters, digits, _ and -, and not embedded, which is always there")
        if not isinstance(entry, dict):
            raise _fail(where, "an object is required")
        if unknown := [one for one in entry if one not in _MEMBERS]:
            raise _fail(where, f"unknown: {', '.join(unknown)}; known: {', '.join(_MEMBERS)}")
        providers[name] = _setting(where, name, entry)
        if "api_key" in entry:
            keys[name] = _key(where, entry["api_key"])
    return ProvidersDraft(providers, keys)


def vault_name(provider: str) -> str:
    """Under which the vault keeps its key."""
    return f"nlp_provider/{provider}"


def require_keys_again(draft: ProvidersDraft, before: Mapping[str, ProviderSetting], kept: frozenset[str]) -> None:
    """A key goes only where it was meant to go: with another address it must be given again. Raises ValidationError."""
    for name, setting in draft.providers.items():
        known = before.get(name)
        moved = known is None or (known.kind, _origin(known.base_url)) != (setting.kind, _origin(setting.base_url))
        if name in kept and name not in draft.keys and moved:
            raise _fail(f"{name}.api_key", "the address has changed: give the key again, or null for none")


def require_open_addresses(draft: ProvidersDraft, rules: DestinationRules) -> None:
    """A private address must be open to the organization; a name is looked up, and checked, at each connection. Raises
    ValidationError."""
    for name, setting in draft.providers.items():
        parts = urlsplit(setting.base_url)
        host = parts.hostname or ""
        address = _written_address(host)
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
        if address is not None and not rules.permits(host, address, port):
            raise _fail(
                f"{name}.base_url",
                "the operator of this installation has not opened this private address to your organization"
                " (headgate org private-destinations)",
            )


def _setting(where: str, name: str, entry: JsonObject) -> ProviderSetting:
    kind = entry.get("kind", name)
    if not isinstance(kind, str) or kind not in _REMOTE:
        raise _fail(f"{where}.kind", f"one of {', '.join(_REMOTE)}")
    base_url = entry.get("base_url", _DEFAULT_URLS[ProviderKind(kind)])
    return ProviderSetting(
        ProviderKind(kind),
        _base_url(where, base_url),
        _models(f"{where}.models", entry.get("models")),
        _price(f"{where}.input_price", entry.get("input_price")),
        _price(f"{where}.output_price", entry.get("output_price")),
    )


def _base_url(where: str, value: JsonValue) -> str:
    problem = "an address that begins with http:// or https://, without user, query and fragment"
    if not isinstance(value, str) or len(value) > 2000 or not value.isascii() or not value.isprintable():
        raise _fail(f"{where}.base_url", problem)
    try:
        parts = urlsplit(value)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError as error:
        raise _fail(f"{where}.base_url", problem) from error
    if not fits or parts.query or parts.fragment or parts.username is not None or " " in value:
        raise _fail(f"{where}.base_url", problem)
    return value.rstrip("/")


def _written_address(host: str) -> Address | None:
    """The address that a host is, in the forms that the system's resolver reads too (127.1, 0x7f000001)."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return IPv4Address(inet_aton(host))
    except OSError:
        return None


def _key(where: str, value: JsonValue) -> Secret | None:
    if value is None:
        return None
    printable = isinstance(value, str) and value.isascii() and value.isprintable() and " " not in value
    if not isinstance(value, str) or not printable or not 0 < len(value) <= _KEY_MAX_CHARACTERS:
        raise _fail(f"{where}.api_key", "a key as the provider gave it, or null")
    return Secret(value)


def _models(where: str, value: JsonValue) -> tuple[str, ...]:
    if value is None:
        return ()
    names = value if isinstance(value, list) and len(value) <= _MODELS_MAX else [None]
    if not all(isinstance(one, str) and one.isprintable() and 0 < len(one) <= MODEL_MAX_CHARACTERS for one in names):
        raise _fail(where, f"a list of at most {_MODELS_MAX} names of models")
    return tuple(dict.fromkeys(str(one) for one in names))


def _price(where: str, value: JsonValue) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
        raise _fail(where, "US dollars for a million tokens, or null")
    return float(value)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _fail(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field}: {reason}", details={"field": field, "reason": reason})
