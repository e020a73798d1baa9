"""Decoding first: what a text holds in other encodings becomes texts of its own, level by level, up to a budget."""

from collections.abc import Iterator
from typing import Final

import re2

from headgate.detectors import encodings
from headgate.detectors.document import ROOT, Document, Node, Origin
from headgate.detectors.limits import Budget
from headgate.detectors.model import GapReason
from headgate.detectors.visible import visible
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError

_INTEGER_MIN: Final = 100_000
_LONG_NAME: Final = 8
_JSON_STARTS: Final = ("{", "[")
_PERCENT: Final = re2.compile(rb"[!-;=?-~]*%[0-9A-Fa-f]{2}[!-;=?-~]*")
_ESCAPES: Final = re2.compile(rb"""\\(?:u00[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|["/])""")
_LINE_WITH_ESCAPE: Final = re2.compile(rb"""[^\x00\n]*\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|["/])[^\x00\n]*""")
_BASE64: Final = re2.compile(rb"(?:[A-Za-z0-9+/]{60,76}\r?\n[ \t]*)*[A-Za-z0-9+/_-]{16,}={0,2}")
_BASE64_PART_MIN: Final = 16
_PLAIN_WORD: Final = re2.compile(rb"[a-z_/-]*|[A-Z_/-]*|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*")


def document_of(value: JsonValue, budget: Budget) -> Document:
    """All texts in ``value``, a text or any JSON value, with what is encoded in them."""
    document = Document()
    _add_value(document, value, ROOT, budget)
    budget.know_size(document.size)
    first = 0
    while first < len(document.pieces):
        next_level = len(document.pieces)
        if document.pieces[first].origin.depth >= budget.limits.decoding_depth_max:
            if _has_more(document, first):
                budget.note(GapReason.DECODING_DEPTH, "encoded more often than is decoded")
            break
        _decode_level(document, first, budget)
        first = next_level
    return document


def _add_value(document: Document, value: JsonValue, origin: Origin, budget: Budget) -> None:
    if isinstance(value, str):
        _add_text(document, value, origin, budget)
        return
    stack: list[tuple[JsonValue, Node | None]] = [(value, origin.node)]
    while stack:
        one, node = stack.pop()
        if isinstance(one, str):
            _add_text(document, one, Origin(origin.outer, origin.step, node), budget)
        elif isinstance(one, int | float) and abs(one) >= _INTEGER_MIN and one == one // 1:
            _add_text(document, str(int(one)), Origin(origin.outer, origin.step, node), budget)
        else:
            if node is not None and isinstance(node.key, str) and _is_worth_naming(document, node.key):
                _add_text(document, "", Origin(origin.outer, origin.step, node), budget)
            if isinstance(one, dict):
                stack.extend((member, Node(node, name)) for name, member in reversed(one.items()))
            elif isinstance(one, list):
                stack.extend((item, Node(node, position)) for position, item in reversed(list(enumerate(one))))


def _is_worth_naming(document: Document, name: str) -> bool:
    """A long name may hold anything; short ones are the same few again and again, and are looked at once."""
    return len(name) >= _LONG_NAME or document.is_new_name(name)


def _add_text(document: Document, text: str, origin: Origin, budget: Budget) -> None:
    if document.size + len(text) > budget.limits.input_bytes_max:
        budget.note(GapReason.INPUT_SIZE, f"larger than {budget.limits.input_bytes_max} bytes")
        text = text[: max(0, budget.limits.input_bytes_max - document.size)]
    if len(document.pieces) >= budget.limits.values_max:
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
    document.add(seen, origin, folded=seen is not text and seen != text)


def _has_more(document: Document, first: int) -> bool:
    return next(_decoded(document.buffer(first)), None) is not None


def _decode_level(document: Document, first: int, budget: Budget) -> None:
    base = document.pieces[first].start
    buffer = document.buffer(first)
    budget.new_pass(len(buffer))
    for start, end, step, encoded in _decoded(buffer):
        if not budget.allows_candidate() or not budget.allows_decoded(len(encoded)):
            return
        outer = document.piece_at(base + start).origin
        origin = Origin(outer, step, None, base + start, base + end, len(encoded))
        _add_decoded(document, encoded, origin, budget)


def _add_decoded(document: Document, data: bytes, origin: Origin, budget: Budget) -> None:
    if encodings.is_compressed(data):
        plain = encodings.decompress(data, budget.decoded_bytes_left)
        if plain is not None:
            content, all_of_it = plain
            if not all_of_it:
                budget.note(GapReason.DECODED_SIZE, "what is compressed inside is larger than what may be decoded")
            if budget.allows_decoded(len(content)) and (text := encodings.as_text(content)) is not None:
                _add_text(document, text, Origin(origin, "gzip", None, size=len(content)), budget)
            return
    text = encodings.as_text(data)
    if text is not None:
        _add_text(document, text, origin, budget)


def _decoded(buffer: bytes) -> Iterator[tuple[int, int, str, bytes]]:
    """What is encoded in the buffer: from where to where, how, and the bytes that it encodes. Cheap tests first."""
    if b"%" in buffer:
        for match in _PERCENT.finditer(buffer):
            yield match.start(), match.end(), "url", encodings.from_percent(match[0])
    if b"\\" in buffer and _ESCAPES.search(buffer) is not None:
        for match in _LINE_WITH_ESCAPE.finditer(buffer):
            text = match[0].decode("utf-8", "replace")
            yield match.start(), match.end(), "escapes", encodings.from_escapes(text).encode("utf-8", "replace")
    for match in _BASE64.finditer(buffer):
        yield from _from_token(match.start(), match[0])


def _from_token(start: int, token: bytes) -> Iterator[tuple[int, int, str, bytes]]:
    hexadecimal = encodings.from_hexadecimal(token)
    if hexadecimal is not None and _is_worth(hexadecimal):
        yield start, start + len(token), "hex", hexadecimal
        return
    if _PLAIN_WORD.fullmatch(token) is not None:
        return
    whole = encodings.from_base64(token)
    if whole is not None and _is_worth(whole):
        yield start, start + len(token), "base64", whole
    elif b"/" in token:  # a path, one part of which may be base64
        at = start
        for part in token.split(b"/"):
            if len(part) >= _BASE64_PART_MIN and (data := encodings.from_base64(part)) is not None and _is_worth(data):
                yield at, at + len(part), "base64", data
            at += len(part) + 1


def _is_worth(data: bytes) -> bool:
    return encodings.is_compressed(data) or encodings.as_text(data) is not None
