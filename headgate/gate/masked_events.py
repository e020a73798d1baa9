"""Masks findings in server-sent events, as ``masked_body`` does.

The HTML standard, "Parsing an event stream": an event's data are its ``data`` lines, joined by line feeds. Each event
is a text or a JSON document of its own. Names, identifiers, comments and line ends stay the same.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from headgate.gate.masked_body import MaskedBody, masked_text, replaceable_events
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.policies.model import FoundText

EVENTS: Final = "events"
"""The member of a judged content that has the data of each event."""

_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_DATA: Final = re.compile(r"data(?:: ?|\Z)")
_BYTE_ORDER_MARK: Final = "\ufeff"


class _Data(NamedTuple):
    """Of one event: where the value of each of its lines stands."""

    text: str
    lines: tuple[tuple[int, int], ...]


def data_of_events(events: bytes) -> list[JsonValue]:
    """The data of each event, as JSON or text."""
    return [_value(one.text) for one in _data(events.decode("utf-8", "replace"))]


def masked_events(
    fields: Iterable[tuple[bytes, bytes]], events: bytes, found: Sequence[FoundText]
) -> MaskedBody | None:
    """None: something of ``found`` cannot be replaced, or none of it stands in the data of an event. ``fields``: those
    of the head. That all of it is gone is for the caller to look at."""
    text = replaceable_events(fields, events)
    by_event: defaultdict[int, list[FoundText]] = defaultdict(list)
    for one in found:
        if one.path[:1] == (EVENTS,) and isinstance(number := one.path[1], int):
            by_event[number].append(replace(one, path=one.path[2:]))
    if text is None or not by_event:
        return None
    pieces: list[str] = []
    done, count, kinds = 0, 0, set[str]()
    for number, data in enumerate(_data(text)):
        if number not in by_event:
            continue
        masked = masked_text(data.text, by_event[number])
        lines = None if masked is None else masked.body.decode().split("\n")
        if masked is None or lines is None or len(lines) != len(data.lines):
            return None
        for (start, end), line in zip(data.lines, lines, strict=True):
            pieces += (text[done:start], line)
            done = end
        count += masked.count
        kinds.update(masked.kinds)
    whole = "".join((*pieces, text[done:]))
    return MaskedBody(whole.encode(), count, tuple(sorted(kinds))) if count else None


def _data(text: str) -> list[_Data]:
    found: list[_Data] = []
    lines: list[tuple[int, int]] = []
    for line in _LINE.finditer(text, text.startswith(_BYTE_ORDER_MARK)):
        if not line[1]:
            found += [_joined(text, lines)] if lines else []
            lines = []
        elif (name := _DATA.match(line[1])) is not None:
            lines.append((line.start() + name.end(), line.end(1)))
    return [*found, _joined(text, lines)] if lines else found


def _joined(text: str, lines: Sequence[tuple[int, int]]) -> _Data:
    return _Data("\n".join(text[start:end] for start, end in lines), tuple(lines))


def _value(data: str) -> JsonValue:
    try:
        return parse_strict(data.encode())
    except ValidationError:
        return data
