"""Shows agents' text to a person with hidden characters written out, and lists where they were.

JSON escapes control characters itself, so line breaks and tabs may stay.
"""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.visible_text import visible

_KEPT: Final = frozenset("\n\t")


def shown_text(text: str) -> str:
    """The text with each hidden character as ``\\u{202e}``; the same object where there is none."""
    return visible(text, _KEPT)


def shown_value(value: JsonValue, hidden: list[str], pointer: str = "") -> JsonValue:
    """Returns the value with all texts and names shown; ``hidden`` receives the place (RFC 6901) of each hidden
    character."""
    match value:
        case str():
            text = shown_text(value)
            if text is not value:
                hidden.append(pointer)
            return text
        case list():
            return [shown_value(one, hidden, f"{pointer}/{number}") for number, one in enumerate(value)]
        case dict():
            return shown_object(value, hidden, pointer)
    return value


def shown_object(value: JsonObject, hidden: list[str], pointer: str = "") -> JsonObject:
    """Like ``shown_value``. Names that look alike get a number."""
    shown: JsonObject = {}
    for name, member in value.items():
        text = shown_text(name)
        place = f"{pointer}/{text.replace('~', '~0').replace('/', '~1')}"
        if text is not name:
            hidden.append(place)
        while text in shown:
            text += " (another)"
        shown[text] = shown_value(member, hidden, place)
    return shown
