"""A form from a JSON schema: the fields of an object's members, and the object that a form sends.

Secrets (``writeOnly``) are never filled in: an empty field keeps the secret, a mark forgets it.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from admin_api.web.form import Form
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import ValidationError

_WORDS: Final = {"url": "URL", "id": "ID", "api": "API"}
_NO_LABELS: Final[Mapping[str, str]] = {}


class FieldKind(StrEnum):
    """``SEVERAL``: some of a few names; ``LINES``: a text a line; ``PAIRS``: ``name = value`` a line."""

    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    CHOICE = "choice"
    SEVERAL = "several"
    LINES = "lines"
    PAIRS = "pairs"
    JSON = "json"
    SECRET = "secret"  # noqa: S105 - the name of a kind
    LONG_SECRET = "long-secret"  # noqa: S105 - the name of a kind


class FormField(Struct, frozen=True):
    """``chosen``: of a flag ("true"), a choice or several; ``is_kept``: there is such a secret. It can be forgotten
    where null is allowed."""

    name: str
    label: str
    kind: FieldKind
    hint: str
    text: str = ""
    chosen: Sequence[str] = ()
    options: Sequence[str] = ()
    placeholder: str = ""
    least: int | None = None
    most: int | None = None
    is_kept: bool = False
    can_be_forgotten: bool = False


def fields_of(
    schema: JsonObject, document: JsonObject, typed: Form | None = None, labels: Mapping[str, str] = _NO_LABELS
) -> list[FormField]:
    """``document`` has the values of now, and ``has_NAME`` for secrets; ``typed``: a refused form, shown again;
    ``labels``: by name, for members whose name is no label."""
    return [_field(name, one, document, typed, labels.get(name) or _label(name)) for name, one in _members(schema)]


def document_of(schema: JsonObject, form: Form) -> JsonObject:
    """What is empty is left out, but for lists. Raises ValidationError, which names the field."""
    found: JsonObject = {}
    forgotten = set(form.several("forget"))
    for name, one in _members(schema):
        kind = _kind(one)
        if kind in (FieldKind.SECRET, FieldKind.LONG_SECRET) and name in forgotten:
            found[name] = None
        elif (value := _value(name, kind, form)) is not None:
            found[name] = value
    return found


def _members(schema: JsonObject) -> list[tuple[str, JsonObject]]:
    properties = schema["properties"]
    found = properties.items() if isinstance(properties, dict) else ()
    return [(name, one) for name, one in found if isinstance(one, dict)]


def _kind(schema: JsonObject) -> FieldKind:
    found = _types(schema)
    if schema.get("writeOnly"):
        return FieldKind.LONG_SECRET if "PEM" in str(schema.get("description")) else FieldKind.SECRET
    if "enum" in schema:
        return FieldKind.CHOICE
    if "array" in found:
        return FieldKind.SEVERAL if _options(schema) else FieldKind.JSON if _is_of_objects(schema) else FieldKind.LINES
    for name, kind in (("object", FieldKind.PAIRS), ("boolean", FieldKind.FLAG), ("integer", FieldKind.NUMBER)):
        if name in found:
            return kind
    return FieldKind.TEXT


def _types(schema: JsonObject) -> Sequence[JsonValue]:
    types = schema.get("type")
    return types if isinstance(types, list) else [types]


def _is_of_objects(schema: JsonObject) -> bool:
    items = schema.get("items")
    return isinstance(items, dict) and items.get("type") == "object"


def _options(schema: JsonObject) -> list[str]:
    items = schema.get("items")
    named = schema.get("enum") or (items.get("enum") if isinstance(items, dict) else None)
    return [str(one) for one in named] if isinstance(named, list) else []


def _field(name: str, schema: JsonObject, document: JsonObject, typed: Form | None, label: str) -> FormField:
    kind, now = _kind(schema), document.get(name)
    text, chosen = _shown(kind, now)
    if typed is not None:
        if kind in (FieldKind.SEVERAL, FieldKind.FLAG, FieldKind.CHOICE):
            chosen = typed.several(name)
        elif kind not in (FieldKind.SECRET, FieldKind.LONG_SECRET):
            text = typed.text(name)
    examples = schema.get("examples")
    return FormField(
        name=name,
        label=label,
        kind=kind,
        hint=str(schema.get("description") or "").split(" Never shown;")[0],
        text=text,
        chosen=chosen,
        options=_options(schema),
        placeholder=str(examples[0]) if isinstance(examples, list) and examples else "",
        least=_bound(schema, "minimum", "minLength"),
        most=_bound(schema, "maximum", "maxLength"),
        is_kept=document.get(f"has_{name}") is True,
        can_be_forgotten=document.get(f"has_{name}") is True and "null" in _types(schema),
    )


def _label(name: str) -> str:
    words = [_WORDS.get(word, word) for word in name.split("_")]
    return " ".join([words[0] if words[0].isupper() else words[0].capitalize(), *words[1:]])


def _bound(schema: JsonObject, *names: str) -> int | None:
    return next((value for name in names if isinstance(value := schema.get(name), int)), None)


def _shown(kind: FieldKind, value: JsonValue) -> tuple[str, Sequence[str]]:
    """The text of a field, and what is chosen in it."""
    if value is None or kind in (FieldKind.SECRET, FieldKind.LONG_SECRET):
        return "", ()
    if isinstance(value, bool):
        return "", ["true"] if value else []
    if kind is FieldKind.JSON:
        return json.dumps(value, indent=2, ensure_ascii=False), ()
    if isinstance(value, list):
        listed = [str(one) for one in value]
        return "\n".join(listed), listed
    if isinstance(value, dict):
        return "\n".join(f"{name} = {one}" for name, one in value.items()), ()
    return str(value), [str(value)]


def _value(name: str, kind: FieldKind, form: Form) -> JsonValue:
    """None: the field is empty."""
    match kind:
        case FieldKind.FLAG:
            return form.text(name) == "true"
        case FieldKind.SEVERAL:
            return list[JsonValue](form.several(name))
        case FieldKind.LINES:
            return list[JsonValue](form.lines(name))
        case FieldKind.PAIRS:
            return dict[str, JsonValue](_pair(name, line) for line in form.lines(name))
        case FieldKind.JSON:
            return parse_strict((form.optional(name) or "null").encode())
        case FieldKind.NUMBER:
            return _number(name, form.optional(name))
    return form.optional(name)


def _pair(name: str, line: str) -> tuple[str, str]:
    left, equals, right = line.partition("=")
    if not equals:
        raise ValidationError(f"{name}: enter NAME = VALUE, one per line", details={"field": name, "reason": "no ="})
    return left.strip(), right.strip()


def _number(name: str, text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError as error:
        raise ValidationError(
            f"{name}: expected a whole number", details={"field": name, "reason": "not a whole number"}
        ) from error
