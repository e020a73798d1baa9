"""Decoding first: what a text holds in other encodings becomes texts of its own, level by level, up to a budget."""

import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from regorus import BytePattern, as_text, container_of, encoded_tokens

from headgate.detectors import encodings
from headgate.detectors.containers import Member, UnscannableError, members
from headgate.detectors.digits import Spelled, spelled_digits
from headgate.detectors.document import ROOT, SEPARATOR, Attachment, Document, JoinedText, Origin
from headgate.detectors.forms import ENCODINGS
from headgate.detectors.joined import JOINED_STEPS, joined_texts
from headgate.detectors.limits import Budget
from headgate.detectors.markup import is_marked_up, without_markup
from headgate.detectors.model import GapReason
from headgate.detectors.pdf_text import pdf_members
from headgate.detectors.secret_formats import secret_formats
from headgate.detectors.skeleton import ascii_skeleton
from headgate.detectors.spelled import backwards, spelled, turned
from headgate.detectors.visible import spread_words, visible
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError

_JSON_STARTS: Final = ("{", "[")
_PERCENT: Final = BytePattern(rb"[!-;=?-~]*%(?:u[0-9A-Fa-f]{4}|[0-9A-Fa-f]{2})[!-;=?-~]*")
_ESCAPES: Final = BytePattern(
    rb"""\\(?:u[0-9A-Fa-f]{4}|u\{|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[0-7]{3}|[0-9a-f]{2} |["/])"""
)
_ENTITIES: Final = BytePattern(rb"[!-~]*&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,31});?[!-~]*")
_TAG: Final = BytePattern(rb"<[^<>]*>")
_INLINE_TAGS: Final = BytePattern(  # what cuts a word and shows no gap
    rb"(?i)[^\s<>\x00]+(?:(?:</?(?:b|i|u|s|em|strong|span|font|wbr|a|sub|sup|mark|code|small|big|tt|kbd|w:[a-z]+)"
    rb"(?:\s[^<>\x00]*)?/?>|<!--[^<>\x00]*-->)+[^\s<>\x00]+)+"
)
_QUOTED: Final = BytePattern(rb"[!-<>-~]*(?:=(?:[0-9A-F]{2}|[ \t]*\r?\n)[!-<>-~]*)+")
_CODE_POINTS: Final = BytePattern(rb"(?:[Uu]\+[0-9A-Fa-f]{4,6}[ \t\r\n,;]{0,3}){4,}")
_EDGE: Final = 4
_TURNS: Final = frozenset(("reversed", "rot13"))
_LINE_WITH_ESCAPE: Final = BytePattern(
    rb"""[^\x00\n]*\\(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[0-7]{3}"""
    rb"""|[0-9a-f]{2} |["/])[^\x00\n]*"""
)
_HIDDEN: Final = "password: "
"""Put before a hidden word, so that the detector of secrets takes the word for one: no ordinary word is hidden."""
_CERTAIN: Final = frozenset(("zip", "xz", "zstd", "pdf", "tar"))
"""Containers whose first bytes hardly come by chance."""


def document_of(
    value: JsonValue,
    budget: Budget,
    attachments: Sequence[Attachment] = (),
    joined: Sequence[JoinedText] | None = None,
) -> Document:
    """All texts in ``value``, a text or any JSON value, and in the attachments, with what is encoded in them.

    ``joined``: what they make together with texts of before; not None: what several of them make together is added too.
    """
    document = Document()
    _add_value(document, value, ROOT, budget)
    budget.know_size(document.size + sum(len(one.data) for one in attachments))
    for attachment in attachments:
        _add_attachment(document, attachment, budget)
    if joined is not None:
        _add_joined(document, joined_texts([document], joined), budget)
    _decode(document, budget)
    return document


def joined_document_of(documents: Sequence[Document], earlier: Sequence[JoinedText], budget: Budget) -> Document:
    """What the texts of ``documents`` make together, also with ``earlier`` ones, and what is encoded in that."""
    joined = Document()
    budget.know_size(sum(one.size for one in documents))
    _add_joined(joined, joined_texts(documents, earlier), budget)
    if len(documents) > 1:  # a credential may begin in either of them
        _add_joined(joined, joined_texts(documents[::-1], ()), budget)
    _decode(joined, budget)
    # Ordinary requests side by side decode to something again and again: here such depth is no sign of hiding.
    budget.gaps.pop(GapReason.DECODING_DEPTH, None)
    return joined


def _add_joined(document: Document, texts: Iterable[tuple[Origin, str]], budget: Budget) -> None:
    for origin, text in texts:
        if budget.allows_decoded(len(text)):
            document.add(text, origin, budget.limits.input_bytes_max, folded=False)


def _decode(document: Document, budget: Budget) -> None:
    first = 0
    while first < document.pieces:
        next_level = document.pieces
        if document.piece(first).origin.depth >= budget.limits.decoding_depth_max:
            if _has_more(document, first):
                budget.note(GapReason.DECODING_DEPTH, "encoded more often than is decoded")
            break
        _decode_level(document, first, budget)
        first = next_level


def _add_value(document: Document, value: JsonValue, origin: Origin, budget: Budget) -> None:
    for text, its_origin in document.add_ordinary(value, origin, budget.limits):
        _add_text(document, text, its_origin, budget)


def _add_text(document: Document, text: str, origin: Origin, budget: Budget) -> None:
    bytes_max = budget.limits.input_bytes_max
    size = document.size + document.label_size(origin)
    if size + len(text) > bytes_max:
        budget.note(GapReason.INPUT_SIZE, f"larger than {bytes_max} bytes")
        text = text[: max(0, bytes_max - size)]
    if document.pieces >= budget.limits.values_max:
        budget.note(GapReason.VALUES, f"more than {budget.limits.values_max} values")
        return
    if origin.depth < budget.limits.decoding_depth_max and text.lstrip()[:1] in _JSON_STARTS:
        try:
            inner = parse_strict(text.encode("utf-8", "replace"))
        except ValidationError:
            pass
        else:
            _add_value(document, inner, Origin(origin, "json", None), budget)
            return
    seen, complete = visible(text)
    if not complete:
        budget.note(GapReason.COMBINING_MARKS, "a run of combining marks was cut")
    start = document.size
    document.add(seen, origin, bytes_max, folded=seen is not text and seen != text)
    for word in spread_words(text) if seen is not text else ():
        hidden = f"{_HIDDEN}{word}"
        if budget.allows_decoded(len(hidden)):
            place = Origin(origin, "hidden", None, start, document.size - len(SEPARATOR), len(word))
            document.add(hidden, place, bytes_max, folded=False)
    bare = None if seen.isascii() or origin.step == "skeleton" else ascii_skeleton(seen)
    if bare is not None and budget.allows_decoded(len(bare)):
        document.add(bare, Origin(origin, "skeleton", None, size=len(bare)), bytes_max, folded=False)


def _has_more(document: Document, first: int) -> bool:
    return next(_decoded(document.buffer(first)), None) is not None


def _decode_level(document: Document, first: int, budget: Budget) -> None:
    base = document.piece(first).start
    buffer = ENCODINGS.text(document.buffer(first))
    budget.new_pass(len(buffer))
    whole: list[tuple[int, int]] = []
    known = bytearray()
    for start, end, step, encoded in _decoded(buffer):
        if not budget.allows_candidate() or not budget.allows_decoded(len(encoded)):
            return
        outer = document.piece_at(base + start).origin
        origin = Origin(outer, step, None, base + start, base + end, len(encoded))
        _add_decoded(document, encoded, origin, budget)
        if step != "quoted-printable":  # in a query "=41" is no encoding
            whole.append((start, end))
        if not outer.has_step(JOINED_STEPS):  # what stands beside it there is no part of it
            known += encoded + b"\0"
    whole = _merged(whole)
    budget.new_pass(len(buffer))
    for start, end, step, encoded in _loosely_decoded(buffer):
        if _is_within(whole, start, end):  # what it was decoded to is looked at in the next level
            continue
        if known.find(encoded[_EDGE:-_EDGE]) >= 0:  # the same, with a digit of something else before it or after it
            continue
        outer = document.piece_at(base + end - 1).origin  # a turned text may begin with the line break before it
        if not outer.has_step(JOINED_STEPS):
            known += encoded + b"\0"
        if step in _TURNS and outer.has_step(_TURNS):
            continue
        if not budget.allows_candidate() or not budget.allows_decoded(len(encoded)):
            return
        _add_decoded(document, encoded, Origin(outer, step, None, base + start, base + end, len(encoded)), budget)


def _merged(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, without overlaps."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _is_within(places: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of the places, which are merged, holds all from start to end."""
    at = bisect_right(places, start, key=lambda place: place[0]) - 1
    return at >= 0 and end <= places[at][1]


def _add_decoded(document: Document, data: bytes, origin: Origin, budget: Budget) -> None:
    kind = container_of(data)
    if kind is not None and _add_container(document, data, kind, origin, budget, is_certain=kind in _CERTAIN):
        return
    text = as_text(data)
    if text is not None:
        _add_text(document, text, origin, budget)


def _add_attachment(document: Document, attachment: Attachment, budget: Budget) -> None:
    """What is not text is a container, or its printable stretches are all that can be read."""
    origin = Origin(None, None, attachment.node())
    _add_bytes(document, attachment.data, origin, budget)


def _add_bytes(document: Document, data: bytes, origin: Origin, budget: Budget) -> None:
    text = as_text(data)
    if text is not None:
        _add_text(document, text, origin, budget)
        if is_marked_up(text) and budget.allows_decoded(len(data)):
            _add_text(document, without_markup(text), Origin(origin, "markup", None, size=len(data)), budget)
        return
    kind = container_of(data)
    if kind is not None and _add_container(document, data, kind, origin, budget, is_certain=True):
        return
    _add_stretches(document, data, origin, budget)
    if data:
        budget.note(GapReason.UNSCANNABLE, "a file in a form that cannot be opened")


def _add_stretches(document: Document, data: bytes, origin: Origin, budget: Budget) -> None:
    stretches = encodings.printable_stretches(data)
    if stretches and budget.allows_decoded(len(stretches)):
        _add_text(document, stretches, Origin(origin, "strings", None, size=len(data)), budget)


def _add_container(
    document: Document, data: bytes, kind: str, origin: Origin, budget: Budget, *, is_certain: bool
) -> bool:
    """Whether it is one. ``is_certain``: one that cannot be opened leaves a gap, and is not merely something else.

    The printable text of the whole container is read too, because comments, extra fields and bytes between the members
    can carry data.
    """
    if origin.depth >= budget.limits.decoding_depth_max:
        budget.note(GapReason.DECODING_DEPTH, "packed more often than is opened")
        return True
    opened = 0
    try:
        for member in _members(kind, data, budget):
            opened += 1
            if not budget.allows_decoded(len(member.data)):
                return True
            if not member.is_whole:
                budget.note(GapReason.DECODED_SIZE, "what is compressed inside is larger than what may be decoded")
            inner = Origin(origin, kind, None, size=len(member.data))
            if member.name:
                _add_text(document, member.name, inner, budget)
            if member.data:
                _add_bytes(document, member.data, inner, budget)
            if not budget.has_time():
                return True
    except UnscannableError as error:
        if not opened and not is_certain:
            return False
        budget.note(GapReason.UNSCANNABLE, str(error))
    _add_stretches(document, data, origin, budget)
    return True


def _members(kind: str, data: bytes, budget: Budget) -> Iterator[Member]:
    if kind == "pdf":
        began = budget.clock()
        # What is read has to be looked through as well, which takes about as long.
        return pdf_members(data, budget.decoded_bytes_left, lambda: budget.has_time_again(began))
    return members(kind, data, budget.decoded_bytes_left)


def _decoded(buffer: bytes) -> Iterator[tuple[int, int, str, bytes]]:
    """What is encoded in the buffer: from where to where, how, and the bytes that it encodes."""
    for found in _in_known_forms(buffer):
        if found[3] != buffer[found[0] : found[1]]:
            yield found


def _in_known_forms(buffer: bytes) -> Iterator[tuple[int, int, str, bytes]]:
    """Cheap tests first."""
    if b"\\" in buffer and _ESCAPES.search(buffer) is not None:
        for match in _LINE_WITH_ESCAPE.finditer(buffer):
            text = match[0].decode("utf-8", "replace")
            yield match.start(), match.end(), "escapes", encodings.from_escapes(text).encode("utf-8", "replace")
    for sign, pattern, step, decoded in _FORMS:
        if sign in buffer:
            for match in pattern.finditer(buffer):
                yield match.start(), match.end(), step, decoded(match[0])
    yield from encoded_tokens(buffer)


_FORMS: Final[tuple[tuple[bytes, BytePattern, str, Callable[[bytes], bytes]], ...]] = (
    (b"%", _PERCENT, "url", encodings.from_percent),
    (b"<", _INLINE_TAGS, "markup", lambda found: bytes(_TAG.sub(b"", found))),
    (b"&", _ENTITIES, "entities", encodings.from_entities),
    (b"=", _QUOTED, "quoted-printable", binascii.a2b_qp),
    (b"+", _CODE_POINTS, "escapes", encodings.from_code_points),
)


def _loosely_decoded(buffer: bytes) -> Iterator[Spelled]:
    """What has no certain form: digits with anything between them, lists of numbers, texts backwards."""
    yield from spelled_digits(buffer)
    yield from spelled(buffer)
    formats = secret_formats()
    yield from turned(buffer, formats.beginnings, formats.turned_beginnings)
    yield from backwards(buffer)
