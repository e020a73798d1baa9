"""The grant form of an approval request: which later calls to let through, with one row for each param of this call.

A row begins as "exactly this", so that a condition is loosened by a choice and never by an oversight.
"""

import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from admin_api.grants.schemas import ApproveAndGrant
from admin_api.web.form import Form, checked
from admin_api.web.grant_preview import GrantPreview
from headgate.grants.conditions import CONDITIONS_MAX, PARAM_MAX_CHARACTERS
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import HeadgateError, ValidationError
from headgate.kernel.secrets import MASK
from headgate.kernel.visible_text import visible

_ROWS_MAX: Final = 100
_OFFERED_CHARACTERS: Final = 200
_SHOWN_CHARACTERS: Final = 120
_HOST: Final = "host"
_CONDITION: Final = re.compile(r"conditions\[([0-9]+)\]")
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_PLACES: Final = {
    "sum": "sum_at_most",
    "sum.at_most": "sum_at_most",
    "sum.param": "sum_param",
    "expires_at": "ends_at",
}
_FIELDS: Final = frozenset({"which", "max_uses", "expires_in_seconds", "ends_at", "sum_param", "sum_at_most", "reason"})


class Kind(StrEnum):
    THIS = "this"
    ANY = "any"
    ONE_OF = "one_of"
    PREFIX = "prefix"
    MATCHES = "matches"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    BETWEEN = "between"


_WITHOUT_VALUE: Final = frozenset({Kind.THIS, Kind.ANY})
_WORDS: Final = {
    Kind.THIS: "exactly this",
    Kind.ANY: "any value",
    Kind.ONE_OF: "one of, a line each",
    Kind.PREFIX: "begins with",
    Kind.MATCHES: "matches the RE2 pattern",
    Kind.AT_LEAST: "at least",
    Kind.AT_MOST: "at most",
    Kind.BETWEEN: "from … to …",
}


class Row(Struct, frozen=True):
    """One param of the held call. ``param``: its name or JSON Pointer; ``shown``: the beginning of its value;
    ``offered``: what its field holds at first."""

    number: int
    param: str
    value: JsonValue
    shown: str
    kinds: Sequence[Kind]
    offered: str = ""

    @property
    def choices(self) -> list[tuple[Kind, str]]:
        return [(kind, _WORDS[kind]) for kind in self.kinds]

    @property
    def is_number(self) -> bool:
        return Kind.AT_MOST in self.kinds


class GrantDraft(Struct, frozen=True):
    """``typed``: the fields as they were sent; ``problems``: what is wrong, by field, and "" for the whole form."""

    rows: Sequence[Row]
    typed: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    preview: GrantPreview | None = None


def rows_of(params: JsonObject) -> Sequence[Row]:
    """A row a param. Objects are divided into their members while all rows together fit into one grant. Empty: a call
    with too many params for a form."""
    found: list[tuple[tuple[str, ...], JsonValue]] = [((name,), value) for name, value in params.items()]
    place = 0
    while place < len(found):
        path, value = found[place]
        if isinstance(value, dict) and value and len(found) + len(value) - 1 <= CONDITIONS_MAX:
            found[place : place + 1] = [((*path, name), member) for name, member in value.items()]
        else:
            place += 1
    if len(found) > _ROWS_MAX or any(len(_param(path)) > PARAM_MAX_CHARACTERS for path, _ in found):
        return []
    return [_row(number, _param(path), value) for number, (path, value) in enumerate(found)]


def draft_of(
    form: Form, rows: Sequence[Row], *, error: HeadgateError | None = None, preview: GrantPreview | None = None
) -> GrantDraft:
    """The form as it was sent, with the preview or what is wrong with it."""
    typed = {name: values[0] for name, values in form.fields.items()}
    return GrantDraft(rows, typed, {} if error is None else _problems(error, form, rows), preview)


def read_grant(form: Form, rows: Sequence[Row], *, is_preview: bool = False) -> ApproveAndGrant:
    """A preview needs no reason. Raises ValidationError with the form's field, or with the field of the body."""
    values: dict[str, object] = {
        "max_uses": form.optional("max_uses"),
        "expires_in_seconds": form.optional("expires_in_seconds"),
        "reason": form.optional("reason") or ("Preview" if is_preview else None),
        "digest": form.optional("digest"),
    }
    if (ends_at := form.utc("ends_at")) is not None:
        values |= {"expires_at": ends_at, "expires_in_seconds": None}
    match form.text("which"):
        case "conditions":
            if not rows:
                raise _invalid("which", "This request has too many params for this form. Use the command line.")
            values["conditions"] = [_condition(row, kind, form) for row, kind in _used(form, rows)]
        case "exact" | "":
            pass
        case other:
            raise _invalid("which", f"Unknown choice {other[:32]!r}.")
    if form.optional("sum_param") is not None:
        values["sum"] = {"param": form.text("sum_param"), "at_most": _number(form.text("sum_at_most"), "sum_at_most")}
    return checked(ApproveAndGrant, values)


def _param(path: Sequence[str]) -> str:
    """A plain name where the grant's condition reads it as one, else a JSON Pointer (RFC 6901)."""
    if len(path) == 1 and path[0] and not path[0].startswith("/"):
        return path[0]
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)


def _row(number: int, param: str, value: JsonValue) -> Row:
    is_text = isinstance(value, str)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = text[:_SHOWN_CHARACTERS] + ("…" if len(text) > _SHOWN_CHARACTERS else "")
    shown = json.dumps(shown, ensure_ascii=False) if is_text else shown
    if MASK in text:
        # The form does not know the secret, so it cannot compare with it.
        return Row(number, param, value, shown, (Kind.ANY,))
    kinds = [Kind.THIS, Kind.ANY]
    if is_text:
        kinds += [Kind.ONE_OF, Kind.MATCHES] if param == _HOST else [Kind.ONE_OF, Kind.PREFIX, Kind.MATCHES]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        kinds += [Kind.ONE_OF, Kind.AT_MOST, Kind.AT_LEAST, Kind.BETWEEN]
    else:
        return Row(number, param, value, shown, kinds)
    return Row(number, param, value, shown, kinds, text if _is_offered(text) else "")


def _is_offered(text: str) -> bool:
    """A field would change what is hidden, or has more than one line."""
    return len(text) <= _OFFERED_CHARACTERS and visible(text) is text


def _used(form: Form, rows: Sequence[Row]) -> list[tuple[Row, Kind]]:
    """The rows that become conditions, in their order."""
    chosen = [(row, _kind(form, row)) for row in rows]
    return [(row, kind) for row, kind in chosen if kind is not Kind.ANY]


def _kind(form: Form, row: Row) -> Kind:
    text = form.text(f"kind-{row.number}") or row.kinds[0]
    kind = next((one for one in row.kinds if one == text), None)
    if kind is None:
        raise _invalid(f"value-{row.number}", f"Unknown condition {text[:32]!r}.")
    if kind in _WITHOUT_VALUE and _text(form, row) not in ("", row.offered):
        raise _invalid(
            f"value-{row.number}", f"“{_WORDS[kind]}” does not use the value. Choose another condition, or remove it."
        )
    return kind


def _text(form: Form, row: Row) -> str:
    """With its spaces: they are a part of what a text begins with."""
    given = form.several(f"value-{row.number}")
    return given[0].strip("\n") if given else ""


def _condition(row: Row, kind: Kind, form: Form) -> JsonObject:
    text, place = _text(form, row), f"value-{row.number}"
    if kind is Kind.THIS:
        return {"param": row.param, "equals": row.value}
    if not text.strip():
        raise _invalid(place, "A value is required.")
    match kind:
        case Kind.ONE_OF:
            lines = [line for line in text.split("\n") if line.strip()]
            return {"param": row.param, "one_of": [_number(one, place) if row.is_number else one for one in lines]}
        case Kind.BETWEEN:
            ends = [one for one in re.split(r"\s*(?:to|…|\.\.)\s*|\s+", text.strip()) if one]
            if len(ends) != 2:
                raise _invalid(place, "Enter two numbers: 10 to 100.")
            return {"param": row.param, "at_least": _number(ends[0], place), "at_most": _number(ends[1], place)}
        case Kind.AT_LEAST | Kind.AT_MOST:
            return {"param": row.param, kind.value: _number(text, place)}
        case _:
            return {"param": row.param, kind.value: text}


def _number(text: str, place: str) -> int | float:
    """No separators: a comma is a decimal sign to one reader and ends thousands to another, and "99,95" would grant a
    hundred times as much."""
    plain = text.strip()
    if not _NUMBER.fullmatch(plain):
        raise _invalid(place, f"{text[:32]!r} is not a number. Enter digits, with a point before decimals: 1500.50")
    return float(plain) if "." in plain else int(plain)


def _problems(error: HeadgateError, form: Form, rows: Sequence[Row]) -> dict[str, str]:
    details = error.details or {}
    named, reason = str(details.get("field", "")), str(details.get("reason", error.message))
    if (found := _CONDITION.match(named)) is not None:
        return {f"value-{_used(form, rows)[int(found[1])][0].number}": reason}
    place = _PLACES.get(named, named)
    if place in _FIELDS or place in {f"value-{row.number}" for row in rows}:
        return {place: reason}
    return {"": error.message}


def _invalid(place: str, reason: str) -> ValidationError:
    return ValidationError(reason, details={"field": place, "reason": reason})
