"""A JSON value without the credentials that were found in it: before somebody else is shown it.

Only they are taken out. Were more masked with them, whoever adds a credential to a text would hide the text from
those who judge it; where more is, because it stands encoded together with one, or is called a private key and reads
like a letter, a gap says so.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from headgate.detectors.decode import document_of
from headgate.detectors.document import SEPARATOR, Document, Origin, Path, Piece, path_of
from headgate.detectors.inspect import Detector, in_one_piece
from headgate.detectors.limits import DEFAULT_LIMITS, Budget, Limits
from headgate.detectors.model import Gap, GapReason, Match
from headgate.detectors.prepare import prepare
from headgate.detectors.secrets import find_secrets
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.secrets import MASK

_UNSEEN_MAX: Final = 64
"""Characters that may be masked with a credential: a label, a user's name, the rest of a small token."""

_ARMOUR: Final = re.compile(r"-----[A-Z0-9 ]*-----|\\[nr]|[\r\n]+")  # RFC 7468, section 2
_KEY_LINE_MIN: Final = 32


class _Found(Struct):
    """By the path of a value: which characters; of which text, where that is not the value itself; what was found in
    the JSON that it holds. ``names``: members whose name holds one."""

    spans: dict[Path, list[tuple[int, int]]] = field(default_factory=dict)
    seen: dict[Path, str] = field(default_factory=dict)
    inner: dict[Path, "_Found"] = field(default_factory=dict)
    names: set[Path] = field(default_factory=set)


class Masked(Struct, frozen=True):
    """``kinds``: what was found, each once, and how often. With gaps, something was not looked at."""

    value: JsonValue
    kinds: Mapping[str, int]
    gaps: tuple[Gap, ...]


def mask_all(value: JsonValue, detectors: Sequence[Detector], limits: Limits = DEFAULT_LIMITS) -> Masked:
    """The value without anything that one of the detectors found, however unsure; what stands encoded together with
    it goes too. Takes milliseconds."""
    prepare()
    budget = Budget(limits)
    document = document_of(value, budget)
    buffer = document.buffer()
    found = _Found()
    kinds: Counter[str] = Counter()
    matches = [match for detector in detectors for match in detector(buffer, budget)]
    for match in _each_in_one_piece(document, matches):
        kinds[match.kind] += 1
        _take_out(match, document, buffer, found)
    masked = _masked(value, (), found) if found.spans or found.names or found.inner else value
    return Masked(masked, kinds, tuple(budget.gaps.values()))


def _each_in_one_piece(document: Document, matches: Iterable[Match]) -> Iterator[Match]:
    """Overlaps are kept, as all of it is to go; what reaches over two texts is taken out of both."""
    for match in matches:
        start = match.start
        while start < match.end:
            end = document.piece_at(start).end
            if start < end:  # else it is what stands between two texts
                yield replace(match, start=start, end=min(match.end, end))
            start = end + len(SEPARATOR)


def mask_secrets(value: JsonValue, limits: Limits = DEFAULT_LIMITS) -> tuple[JsonValue, tuple[Gap, ...]]:
    """The value with its credentials masked, in the form in which they stand in it.

    With gaps, something was not looked at and may still hold one, or something else is masked with one.
    """
    prepare()
    budget = Budget(limits)
    document = document_of(value, budget)
    buffer = document.buffer()
    found = _Found()
    for match in in_one_piece(document, find_secrets(buffer, budget)):
        if not _take_out(match, document, buffer, found):
            budget.note(GapReason.MASKED, "what looks like a credential holds, or is encoded with, something else")
    masked = _masked(value, (), found) if found.spans or found.names or found.inner else value
    return masked, tuple(budget.gaps.values())


def _take_out(match: Match, document: Document, buffer: bytes, found: _Found) -> bool:
    """Whether nothing else goes with it."""
    alone = _is_one_credential(buffer[match.start : match.end].decode("utf-8", "replace"))
    places = [(match.start, match.end)]
    chain = _outermost_first(document.piece_at(match.start).origin)
    at = chain[0]
    for inner in chain[1:]:
        if inner.step != "json":
            places = _as_it_stands(match, inner, document, buffer)
            if not places:
                places = [(inner.start, inner.end)]
                alone &= max(one.size for one in chain) - (match.end - match.start) <= _UNSEEN_MAX
            break
        found = found.inner.setdefault(path_of(at.node), _Found())
        at = inner
    for start, end in places:
        alone &= _note(start, end, path_of(at.node), document.piece_at(start), buffer, found)
    return alone


def _as_it_stands(match: Match, decoded: Origin, document: Document, buffer: bytes) -> list[tuple[int, int]]:
    """Where the very same text stands undecoded: not all of what is decoded was encoded. Empty where one of them does
    not."""
    piece = document.piece_at(match.start)
    credential = buffer[match.start : match.end]
    if piece.origin is not decoded:
        return []
    places = [
        (decoded.start + one.start(), decoded.start + one.end())
        for one in re.finditer(re.escape(credential), buffer[decoded.start : decoded.end])
    ]
    return places if len(places) >= buffer.count(credential, piece.start, piece.end) else []


def _note(start: int, end: int, path: Path, piece: Piece, buffer: bytes, found: _Found) -> bool:
    """Whether nothing else is masked with a name."""
    alone = True
    if start < piece.text_start and (end <= piece.text_start or b"\\" in buffer[start : piece.text_start]):
        found.names.add(path)
        alone = not path or len(str(path[-1])) - (end - start) <= _UNSEEN_MAX
    if end > piece.text_start:
        text = buffer[piece.text_start : piece.end]
        first = len(text[: max(0, start - piece.text_start)].decode("utf-8", "replace"))
        last = len(text[: end - piece.text_start].decode("utf-8", "replace"))
        found.spans.setdefault(path, []).append((first, last))
        if piece.folded:
            found.seen[path] = text.decode("utf-8", "replace")
    return alone


def _is_one_credential(text: str) -> bool:
    """Whether it could be what it looks like: a long one has no words in it, but the armour of a key."""
    lines = [line.strip() for line in _ARMOUR.split(text)]
    lines = [line for line in lines if line]
    if sum(map(len, lines)) <= _UNSEEN_MAX:
        return True
    return not any(re.search(r"\s", line) for line in lines) and all(len(line) >= _KEY_LINE_MIN for line in lines[:-1])


def _outermost_first(origin: Origin) -> list[Origin]:
    chain = [origin]
    while (outer := chain[-1].outer) is not None:
        chain.append(outer)
    return chain[::-1]


def _masked(value: JsonValue, path: Path, found: _Found) -> JsonValue:
    if isinstance(value, dict):
        members: JsonObject = {}
        for number, (name, one) in enumerate(value.items()):
            shown = _free_name(number, value, members) if (*path, name) in found.names else name
            members[shown] = _masked(one, (*path, name), found)
        return members
    if isinstance(value, list):
        return [_masked(one, (*path, position), found) for position, one in enumerate(value)]
    if isinstance(value, str) and (inner := found.inner.get(path)) is not None:
        return canonical_bytes(_masked(parse_strict(value.encode("utf-8", "replace")), (), inner)).decode()
    spans = found.spans.get(path)
    if spans is None:
        return value
    return _without(found.seen.get(path, value), spans) if isinstance(value, str) else MASK


def _free_name(number: int, *taken: JsonObject) -> str:
    """One that takes no other member's place."""
    name = f"{MASK} {number}"
    while any(name in one for one in taken):
        name += "'"
    return name


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            kept += (text[done:start], MASK)
        done = max(done, end)
    return "".join((*kept, text[done:]))
