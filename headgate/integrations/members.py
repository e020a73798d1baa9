"""The table rows of a settings class: how each member is parsed, checked, stored and described.

A settings class is a frozen dataclass whose fields come from ``member``. Parsing, the stored document and the JSON
schema (draft 2020-12) all derive from them, so the description matches the check.
"""

import re
from collections.abc import Callable
from dataclasses import field
from typing import Any, Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.outgoing.target import parse_target

REQUIRED: Final = object()
_MOST: Final = 100


class Kind(Struct, frozen=True):
    """``check`` raises ValueError, whose text states what is expected; ``show`` converts back for the document."""

    schema: JsonObject
    check: Callable[[JsonValue], object]
    show: Callable[[Any], JsonValue] = lambda value: value


class Member(Struct, frozen=True):
    """``default`` REQUIRED: an enabled integration must set the member. ``is_destination``: secrets are sent there, so
    changing it requires submitting them again."""

    kind: Kind
    default: Any
    meaning: str
    is_destination: bool = False


def member(kind: Kind, meaning: str, default: Any = REQUIRED, *, is_destination: bool = False) -> Any:
    """A field of a settings class."""
    return field(metadata={"member": Member(kind, default, meaning, is_destination)})


def text(most: int = 200, pattern: str | None = None, example: str | None = None) -> Kind:
    """Printable text that fully matches the pattern."""
    schema: JsonObject = {"type": "string", "minLength": 1, "maxLength": most}
    if pattern is not None:
        schema["pattern"] = f"^(?:{pattern})$"
    if example is not None:
        schema["examples"] = [example]
    compiled = None if pattern is None else re.compile(pattern)

    def check(value: JsonValue) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= most or not value.isprintable():
            raise ValueError(f"a text of at most {most} printable characters")
        if compiled is not None and compiled.fullmatch(value) is None:
            raise ValueError(f"a text of the form {pattern}")
        return value

    return Kind(schema, check)


def url() -> Kind:
    """A base address without a trailing slash."""

    def check(value: JsonValue) -> str:
        if not isinstance(value, str) or len(value) > 500:
            raise ValueError("an address of at most 500 characters")
        try:
            parse_target(value)
        except ValidationError as error:
            raise ValueError(error.message) from error
        if "?" in value:
            raise ValueError("an address without a query")
        return value.rstrip("/")

    return Kind({"type": "string", "format": "uri", "maxLength": 500}, check)


def flag() -> Kind:
    def check(value: JsonValue) -> bool:
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value

    return Kind({"type": "boolean"}, check)


def names(allowed: tuple[str, ...] | None = None) -> Kind:
    """A list of texts without duplicates."""
    item: JsonObject = {"type": "string", "minLength": 1, "maxLength": 200}
    if allowed is not None:
        item = {"enum": list[JsonValue](allowed)}

    def check(value: JsonValue) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > _MOST:
            raise ValueError(f"a list of at most {_MOST}")
        one = text()
        found = tuple(dict.fromkeys(str(one.check(entry)) for entry in value))
        if allowed is not None and (unknown := [entry for entry in found if entry not in allowed]):
            raise ValueError(f"unknown: {unknown[0]}; known: {', '.join(allowed)}")
        return found

    return Kind({"type": "array", "items": item, "maxItems": _MOST}, check, show=list)


def people() -> Kind:
    """The platform's accounts and the users that they are linked to."""
    schema: JsonObject = {
        "type": "object",
        "additionalProperties": {"type": "string", "pattern": "^usr_[0-9a-f-]{36}$"},
        "maxProperties": 10_000,
    }

    def check(value: JsonValue) -> dict[str, str]:
        if not isinstance(value, dict) or len(value) > 10_000:
            raise ValueError('an object: the account, and a user ("usr_…")')
        for account, user in value.items():
            is_user = isinstance(user, str) and re.fullmatch(r"usr_[0-9a-f-]{36}", user) is not None
            if not 0 < len(account) <= 200 or not is_user:
                raise ValueError('an account of at most 200 characters, and a user ("usr_…")')
        return {account: str(user) for account, user in value.items()}

    return Kind(schema, check)


def checked_object(value: JsonValue, known: set[str]) -> JsonObject:
    """Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("an object is expected")
    if unknown := sorted(value.keys() - known):
        raise ValueError(f"unknown: {unknown[0][:64]}; known: {', '.join(sorted(known))}")
    return value
