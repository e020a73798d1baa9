"""What is wrong with a member of a policy's answer, in words: the type that it has, and the error that says so."""

from headgate.kernel.canonical_json import JsonValue


class AnswerError(Exception):
    """A policy's answer has a member of the wrong type or out of its range; the message names it."""


def describe(value: JsonValue) -> str:
    """The value's type, or the number itself: a policy's author looks for it in their text."""
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
    """From 1 to ``most``. Rego has one type of number: 2.0 is 2 there, and here. Raises AnswerError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= most or value != int(value):
        raise AnswerError(f"{name} must be a whole number from 1 to {most}, not {describe(value)}")
    return int(value)
