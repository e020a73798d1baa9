"""What an agent asked for, as a person must see it: each text with what hides in it written out, and where it was.

JSON writes control characters out by itself, so that line breaks and tabs may stay what they are.
"""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.visible_text import visible

_KEPT: Final = frozenset("\n\t")


def shown_text(text: str) -> str:
    """The text with each hidden character as ``\\u{202e}``; the same object where there is none."""
    return visible(text, _KEPT)


def shown_value(value: JsonValue, hidden: list[str], pointer: str = "") -> JsonValue:
    """The value with all its texts shown, names too; ``hidden`` gets the place (RFC 6901) of each that was not."""
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
    """As ``shown_value``. Names that are shown alike keep apart by a number."""
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
