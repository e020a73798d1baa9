"""Checks the members of the settings document one by one: each error names the member (``channels.mail.url``)."""

from collections.abc import Collection
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.kernel.whole_numbers import whole_number

MOST: Final = 50


def object_of(where: str, value: JsonValue, known: Collection[str] | None) -> JsonObject:
    if not isinstance(value, dict):
        raise fault(where or "notifications", "an object is expected")
    if known is not None and (unknown := sorted(value.keys() - set(known))):
        raise fault(f"{where}.{unknown[0]}".lstrip("."), f"unknown; known: {', '.join(sorted(known))}")
    return value


def list_of(where: str, value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list) or len(value) > MOST:
        raise fault(where, f"a list of at most {MOST}")
    return value


def names_of(where: str, value: JsonValue, allowed: Collection[str] | None) -> tuple[str, ...]:
    found = [text_of(where, one, 320) for one in list_of(where, value)]
    if allowed is not None and (unknown := [one for one in found if one not in allowed]):
        raise fault(where, f"unknown: {unknown[0]}; known: {', '.join(allowed)}")
    return tuple(dict.fromkeys(found))


def text_of(where: str, value: JsonValue, most: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= most or not value.isprintable():
        raise fault(where, f"a text of at most {most} printable characters")
    return value


def whole_of(where: str, value: JsonValue, least: int, most: int) -> int:
    whole = whole_number(value)
    if whole is None or not least <= whole <= most:
        raise fault(where, f"a whole number from {least} to {most}")
    return whole


def fault(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field}: {reason}", details={"field": field, "reason": reason})
