"""The first members of a large JSON object, for lists.

A recorded request may have ten megabytes, and a page of a list a hundred of them: reading each one whole would stop the
process, decisions included, for as long as an agent likes.
"""

import json
from typing import Final

from headgate.kernel.canonical_json import JsonObject

BEGINNING_CHARACTERS: Final = 16 << 10
"""How much of each recorded request lists and searches read."""

_DECODER: Final = json.JSONDecoder()
_LEVELS: Final = 2
"""A record's members, and theirs: the params and the request line of one whose body is cut."""


def read_beginning(text: str) -> tuple[JsonObject, bool]:
    """The members of a canonical object (RFC 8785: no white space) that ``text`` has, and whether it is whole.

    Of an object that the end cuts, its own first members; any other value that it cuts is left out.
    """
    found, end = _members(text, 0, _LEVELS)
    return found, end == len(text)


def _members(text: str, at: int, levels: int) -> tuple[JsonObject, int | None]:
    """The object that begins at ``at``, and where it ends; None: ``text`` ends before it."""
    found: JsonObject = {}
    if text.startswith("{}", at):
        return found, at + 2
    while True:
        try:
            name, colon = _DECODER.raw_decode(text, at + 1)
            value, end = _DECODER.raw_decode(text, colon + 1)
        except (ValueError, RecursionError):
            break
        if end == len(text):
            break  # the object is not closed, and a number could go on
        found[name] = value
        at = end
        if text[at] == "}":
            return found, at + 1
    cut = _cut_object(text, at + 1) if levels > 1 else None
    if cut is not None:
        name, begins = cut
        found[name] = _members(text, begins, levels - 1)[0]
    return found, None


def _cut_object(text: str, at: int) -> tuple[str, int] | None:
    """The name of the member at ``at``, and where its value begins, where that is an object."""
    try:
        name, colon = _DECODER.raw_decode(text, at)
    except ValueError:
        return None
    return (name, colon + 1) if text.startswith("{", colon + 1) else None
