"""Canonical JSON: the bytes that are hashed, signed and compared.

RFC 8785 (JCS) with one exception: integers are written exactly, whatever their size, where the RFC would
round them to a double (semantics.md, "The action and what an approval covers"). Parsing refuses what two
parsers could read differently: duplicate keys, lone surrogates, non-finite numbers.
"""

import hashlib
from typing import Final, cast

from regorus import JsonError, canonical_json, parse_json

from headgate.kernel.errors import ValidationError

type JsonValue = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
type JsonObject = dict[str, JsonValue]

_SHA256: Final = "sha256:"


def canonical_bytes(value: object) -> bytes:
    """The canonical form of a JSON value, in UTF-8. Raises ValidationError for what JSON cannot hold."""
    try:
        return canonical_json(value)
    except JsonError as error:
        raise ValidationError(f"not representable as JSON: {error}") from error


def parse_strict(text: bytes) -> JsonValue:
    """One JSON text (RFC 8259, UTF-8), read in the only way it can be read. Raises ValidationError."""
    try:
        return cast("JsonValue", parse_json(text))
    except JsonError as error:
        raise ValidationError(f"invalid or ambiguous JSON: {error}") from error


def sha256_hex(value: bytes) -> str:
    """SHA-256 with the prefix that the specification gives hash values."""
    return _SHA256 + hashlib.sha256(value).hexdigest()


def sha256_bytes(written: str) -> bytes:
    """The bytes of a digest as ``sha256_hex`` writes it; the prefix may be missing. Raises ValueError."""
    return bytes.fromhex(written.removeprefix(_SHA256))
