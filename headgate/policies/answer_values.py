"""Describes an invalid member of a policy's answer: its type, and the error text."""

from headgate.kernel.canonical_json import JsonValue


class AnswerError(Exception):
    """A policy's answer has a member of the wrong type or out of its range; the message names it."""


def describe(value: JsonValue) -> str:
    """The value's type, or the number itself, so that the policy's author can find it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return str(value)[:40]
        case str():
            return "a string"
        case list():
            return f"a set or list of {len(value)}"
        case dict():
            return "an object"


def whole_number(name: str, value: JsonValue, most: int) -> int:
    """From 1 to ``most``. Rego has one number type: it treats 2.0 as 2, and so does this check. Raises AnswerError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= most or value != int(value):
        raise AnswerError(f"{name} must be a whole number from 1 to {most}, not {describe(value)}")
    return int(value)
