r"""An answer that comes piece by piece, cut where its format says that a piece ends.

Server-sent events: the HTML standard, "Parsing an event stream" (lines end with CRLF, LF or CR; an empty line ends an
event). Lines: each is one JSON text. Pure: bytes go in as they arrive and come out whole, in order, none left out.

What belongs to one message is often spread over many pieces, a few letters in each (the deltas of a language model).
So each text is also read together with what stood at the same place of the pieces before: ``Windows``.
"""

import hashlib
import json
import re
from collections import OrderedDict
from typing import Final, NamedTuple, cast

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.protocols.answer_head import StreamKind

WINDOW_CHARACTERS: Final = 4096
"""How much of what came before is read again with what comes next."""

_WINDOWS_MAX: Final = 1024
_PLACE_MAX_CHARACTERS: Final = 256
_RECENT_MAX: Final = 4
_SHORT_CHARACTERS: Final = 256
_ENDS: Final = {
    # Atomic groups: CRLF is one line's end, never CR and LF as two.
    StreamKind.EVENTS: re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)"),
    StreamKind.LINES: re.compile(rb"\n"),
}
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_NUMBERS: Final = re.compile(r"[\d\s.,:+-]*")
_RECORD_SEPARATOR: Final = "\x1e"
_OTHER_FIELDS: Final = "other fields"


class Pieces:
    """The bytes of one stream on their way: ``feed`` them, then take what is whole with ``ready``."""

    __slots__ = ("_end", "_ready_to", "_searched_to", "_waiting")

    def __init__(self, kind: StreamKind) -> None:
        self._end = _ENDS[kind]
        self._waiting = bytearray()
        self._searched_to = 0
        self._ready_to = 0

    def __len__(self) -> int:
        """Bytes that are held back."""
        return len(self._waiting)

    def feed(self, data: bytes) -> None:
        self._waiting += data
        for match in self._end.finditer(self._waiting, self._searched_to):
            self._ready_to = match.end()
        # An end may begin in the last bytes; looking at all of them again would cost the square of what waits.
        self._searched_to = max(self._ready_to, len(self._waiting) - 4)

    def finish(self) -> None:
        """Nothing comes any more: what is left is a piece as well."""
        self._ready_to = len(self._waiting)

    @property
    def ready(self) -> bytes:
        return bytes(self._waiting[: self._ready_to])

    def take(self) -> bytes:
        """``ready``, which is then no longer waiting."""
        taken = self.ready
        del self._waiting[: self._ready_to]
        self._searched_to = max(0, self._searched_to - self._ready_to)
        self._ready_to = 0
        return taken


class _Place(NamedTuple):
    """``text``: its last characters. ``times``: how many pieces had this text and no other; 0: they differ. ``recent``:
    the ends of the last pieces."""

    text: str
    times: int
    recent: tuple[str, ...]


class Windows:
    """What stood at each place of the pieces so far: its last characters."""

    def __init__(self) -> None:
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._last: dict[str, _Place] = {}
        """Of the pieces that were read last, which may become others."""
        self._renewed: dict[str, None] = {}
        """The places among them that count as new, in order."""

    def joined(self, kind: StreamKind, text: str) -> JsonObject:
        """The places that these whole pieces have touched, each with what stood there before.

        Raises AmbiguousRequestError for a piece that clients read in different ways.
        """
        self.keep()
        touched: dict[str, str] = {}
        pieces = _events(text) if kind is StreamKind.EVENTS else [(line, "") for line in text.split("\n")]
        for data, other in pieces:
            for place, leaf in _leaves(data):
                self._add(place, leaf, touched)
            if other:
                self._add(_OTHER_FIELDS, other, touched)
        return dict(touched)

    def keep(self) -> None:
        """The pieces that were read last stay as they are."""
        self._places.update(self._last)
        for place in self._renewed:
            self._places.move_to_end(place)
        while len(self._places) > _WINDOWS_MAX:
            self._places.popitem(last=False)
        self.take_back()

    def take_back(self) -> None:
        """The pieces that were read last are left out: others come in their place."""
        self._last.clear()
        self._renewed.clear()

    def _add(self, place: str, leaf: str, touched: dict[str, str]) -> None:
        if len(place) > _PLACE_MAX_CHARACTERS:
            place = hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()  # kept for as long as the stream lasts
        before = self._last.get(place) or self._places.get(place)
        recent = (*(() if before is None else before.recent), leaf[-_SHORT_CHARACTERS:])[-_RECENT_MAX:]
        if before is not None and before.times and before.text == leaf:
            # A label that every piece repeats is one label; the first other value shows that it is a text.
            self._last[place] = _Place(leaf, before.times + 1, recent)
            touched[place] = leaf
            return
        text, times = "", 0
        if before is None:
            times = int(len(leaf) <= WINDOW_CHARACTERS)
        elif before.times:
            text = before.text * min(before.times, WINDOW_CHARACTERS // len(before.text) + 1)
            touched.pop(place, None)
        else:
            text = before.text
        whole = text + leaf
        # Of many pieces that come at once all is read, whatever the window.
        touched[place] = touched[place] + leaf if place in touched else whole
        if len(leaf) <= _SHORT_CHARACTERS:
            # What begins with a piece may follow a letter in the whole, where no detector takes it for a beginning.
            # Not so digits: four prices one after the other would now and then be somebody's number.
            for first in range(len(recent) - 1):
                begun = "".join(recent[first:])
                if not _NUMBERS.fullmatch(begun):
                    touched[f"{place} {len(touched)}"] = begun
        self._last[place] = _Place(whole if times else whole[-WINDOW_CHARACTERS:], times, recent)
        self._renewed.pop(place, None)
        self._renewed[place] = None


def _events(text: str) -> list[tuple[str, str]]:
    """Of each event its data, and everything else that stands in it."""
    found: list[tuple[str, str]] = []
    data: list[str] = []
    other: list[str] = []
    for line in _LINE_END.split(text):
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif line:
            other.append(line)
        elif data or other:
            found.append(("\n".join(data), "\n".join(other)))
            data, other = [], []
    if data or other:
        found.append(("\n".join(data), "\n".join(other)))
    return found


def _read(text: str) -> JsonValue:
    """As a client reads it. Many take what we refuse (NaN, half of a surrogate pair, numbers of any size), and would
    go on with texts that were never read together. Raises ValueError, RecursionError; AmbiguousRequestError where
    clients differ: some take the first of two members with one name, most the last.
    """
    try:
        return parse_strict(text.encode("utf-8", "replace"))
    except ValidationError:
        return cast("JsonValue", json.loads(text, object_pairs_hook=_members, parse_int=float))


def _members(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise AmbiguousRequestError("a piece of the stream has two members of one name")
    return members


def _leaves(data: str) -> list[tuple[str, str]]:
    """The texts in a JSON value, by their places; what is no JSON is one text. Deeper than JSON may be: one text."""
    stripped = data.strip().lstrip(_RECORD_SEPARATOR)
    if not stripped:
        return []
    try:
        value = _read(stripped)
    except (ValueError, RecursionError):
        return [("$", data)]
    if not isinstance(value, dict | list | str):
        return [("$", stripped)]  # digits that are a text of digits
    found: list[tuple[str, str]] = []
    waiting: list[tuple[str, JsonValue]] = [("$", value)]
    while waiting:
        place, one = waiting.pop()
        if isinstance(one, dict):
            waiting += [(f"{place}[{json.dumps(name)}]", member) for name, member in one.items()]
        elif isinstance(one, list):
            waiting += [(f"{place}[{index}]", member) for index, member in enumerate(one)]
        elif isinstance(one, str) and one:
            found.append((place, one.encode("utf-8", "replace").decode()))  # half a surrogate pair is no character
    return found
