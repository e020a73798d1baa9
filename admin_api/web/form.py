"""Reads the fields of a form. Each name may occur once, unless it is read as a list."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qs

import pydantic
from msgspec import Struct
from starlette.requests import Request

from admin_api.errors import field_name, reason_of
from headgate.kernel.errors import ValidationError

_MOST_FIELDS: Final = 500


class Form(Struct, frozen=True):
    """Line ends are as text has them, not as HTTP sends them (HTML, section 4.10.21.3)."""

    fields: Mapping[str, Sequence[str]]

    def text(self, name: str) -> str:
        """Returns a field, empty if missing. Raises ValidationError if it is repeated."""
        given = self.fields.get(name, [])
        if len(given) > 1:
            raise ValidationError(f"{name}: given {len(given)} times", details={"field": name, "reason": "repeated"})
        return given[0].strip() if given else ""

    def optional(self, name: str) -> str | None:
        """Returns a field. None if it is empty or missing."""
        return self.text(name) or None

    def several(self, name: str) -> Sequence[str]:
        return self.fields.get(name, [])

    def lines(self, name: str) -> list[str]:
        """A text's lines, without empty ones."""
        return filled(self.text(name).splitlines())

    def utc(self, name: str) -> datetime | None:
        """A field of the type datetime-local (HTML, section 2.3.5.5), meant as UTC. Raises ValidationError."""
        text = self.optional(name)
        try:
            return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError as error:
            reason = "expected a date and time, for example 2026-12-24T18:00"
            raise ValidationError(f"{name}: {reason}", details={"field": name, "reason": reason}) from error

    def whole_number(self, name: str) -> int:
        """Raises ValidationError."""
        return whole_number(self.text(name), name)


def filled(texts: Iterable[str]) -> list[str]:
    """Without white space around them, and without those that are empty then."""
    return [text for one in texts if (text := one.strip())]


def whole_number(text: str, field: str) -> int:
    """Raises ValidationError."""
    if not text.isascii() or not text.isdigit() or len(text) > len("999999999"):
        raise ValidationError(f"{text[:32]!r} is not a whole number.", details={"field": field})
    return int(text)


def place_of(number: str, count: int) -> int | None:
    """Where a list of ``count`` items has the one with this number, counted from 1; None: it has none."""
    if not number.isdecimal() or len(number) > len(str(count)) or not 1 <= int(number) <= count:
        return None
    return int(number) - 1


def no_such_button(act: str) -> ValidationError:
    """``act``: the action that the form sent."""
    return ValidationError(f"Unknown action {act[:32]!r}. Use a form button.")


async def form_of(request: Request) -> Form:
    """Raises ValidationError, PayloadTooLargeError."""
    try:
        found = parse_qs((await request.body()).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise ValidationError("The form cannot be read. Send UTF-8 text.", details={"field": "body"}) from error
    if any("\0" in value for values in found.values() for value in values):
        raise ValidationError("The form contains a NUL character. Remove it.", details={"field": "body"})
    return Form({name: [one.replace("\r\n", "\n") for one in values] for name, values in found.items()})


def checked[Body: pydantic.BaseModel](
    model: type[Body], values: Mapping[str, object], *, with_nulls: bool = False
) -> Body:
    """The route's body from a form's values, without those that are None (``with_nulls``: with them, to empty a
    field). Raises ValidationError with the field."""
    try:
        return model.model_validate({name: value for name, value in values.items() if with_nulls or value is not None})
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        field = field_name(("body", *first["loc"]))
        message = reason_of(first)
        raise ValidationError(f"{field}: {message}", details={"field": field, "reason": message}) from error
