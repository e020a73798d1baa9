"""What a parser read, in a form in which two readings can be compared.

A reading is None where the parser refused. Names and values are bytes of UTF-8; fields and files keep their order
within a name, since some parsers keep no other.
"""

from dataclasses import dataclass

type Field = tuple[bytes, bytes]
type File = tuple[bytes, bytes | None, bytes]


@dataclass(frozen=True)
class Form:
    fields: tuple[Field, ...]
    files: tuple[File, ...] = ()


def form(fields: list[Field], files: list[File] | None = None) -> Form:
    """In one order for all parsers."""
    return Form(
        tuple(sorted(fields, key=lambda one: one[0])),
        tuple(sorted(files or [], key=lambda one: one[0])),
    )


@dataclass(frozen=True)
class Json:
    """``text``: the value with each number as the double that it is."""

    text: str


@dataclass(frozen=True)
class Label:
    media_type: str
    charset: str
    boundary: str


type Reading = Form | Json | Label | None


@dataclass(frozen=True)
class Case:
    """``kind``: multipart, form, query, json or content_type."""

    kind: str
    content_type: str
    body: bytes


def numbers_as_doubles(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | list | dict):
        return value
    if isinstance(value, list):
        return [numbers_as_doubles(one) for one in value]
    if isinstance(value, dict):
        return {name: numbers_as_doubles(one) for name, one in value.items()}
    return float(value) + 0.0 if float(value) == value else f"not a double: {value}"
