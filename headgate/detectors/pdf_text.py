"""The text of a PDF file (ISO 32000-1), as far as it is text: streams inflated, strings shown, fonts' maps applied.

No page is laid out: strings come in the order of the file. A string of glyph numbers is read by every ToUnicode map of
the file (9.10.3), as a few maps are cheaper than the tree of fonts; the last one that gives text is taken.
"""

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final

from msgspec import Struct
from regorus import BytePattern, container_of

from headgate.detectors.containers import Member, UnscannableError
from headgate.detectors.encodings import printable_stretches

STREAMS_MAX: Final = 512
"""Streams of one PDF file that are read."""

_STREAM: Final = BytePattern(rb"stream\r?\n")
_SHOWN: Final = BytePattern(rb"\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*\)|<[0-9A-Fa-f\s]+>|T[dDm*]|ET|'|\"")
_MAPS: Final = BytePattern(rb"(?s)beginbf(char|range)(.*?)endbf")
_MAPPED_ONE: Final = BytePattern(rb"<([0-9A-Fa-f]{2,8})>\s*<([0-9A-Fa-f]{4,64})>")
_MAPPED_RANGE: Final = BytePattern(
    rb"<([0-9A-Fa-f]{2,8})>\s*<([0-9A-Fa-f]{2,8})>\s*(?:<([0-9A-Fa-f]{4,64})>|\[([^\]]*)\])"
)
_MAPPED_TEXT: Final = BytePattern(rb"<([0-9A-Fa-f]{4,64})>")
_ESCAPE: Final = re.compile(rb"\\([0-7]{1,3}|\r?\n|.)", re.DOTALL)
_ESCAPES: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"", b"f": b""}
_DICTIONARY_BYTES: Final = 1024
_MAPPED_MAX: Final = 65_536
_MAPS_MAX: Final = 16
_BETWEEN_LOOKS: Final = 256
"""Strings or lines of a map that are read between two looks at the clock."""
_GLYPHS_BETWEEN_LOOKS: Final = 16_384
_PICTURES: Final = (b"/DCTDecode", b"/JPXDecode", b"/CCITTFaxDecode", b"/JBIG2Decode")
_UTF_16: Final = b"\xfe\xff"


class _Map(Struct, frozen=True):
    """Of a ToUnicode stream: glyph numbers, all of ``width`` bytes, to text."""

    width: int
    text_of: Mapping[int, str]

    def texts(self, raw: bytes, has_time: Callable[[], bool]) -> Iterator[str]:
        """Of the glyphs that are in the map; once ``has_time`` says no, of none that follow."""
        step = _GLYPHS_BETWEEN_LOOKS * self.width
        for start in range(0, len(raw), step):
            if not has_time():
                break
            yield from filter(None, map(self.text_of.get, _numbers(raw[start : start + step], self.width)))


def pdf_members(data: bytes, size_max: int, has_time: Callable[[], bool]) -> Iterator[Member]:
    """The strings outside of streams, then those of each stream. Raises UnscannableError, perhaps after some.

    Once ``has_time`` says no, which notes the gap, the strings and maps that follow are left out.
    """
    if b"/Encrypt" in data:
        raise UnscannableError("an encrypted PDF file")
    left, unread, has_more = size_max, None, False
    streams: list[bytes] = []
    outside: list[bytes] = []
    at = 0
    for number, found in enumerate(_STREAM.finditer(data)):
        if found.start() < at or data[max(0, found.start() - 3) : found.start()] == b"end":
            continue
        if number >= 2 * STREAMS_MAX or len(streams) >= STREAMS_MAX:
            raise UnscannableError(f"a PDF file with more than {STREAMS_MAX} streams")
        outside.append(data[at : found.start()])
        end = data.find(b"endstream", found.end())
        at = len(data) if end < 0 else end
        dictionary = data[max(0, found.start() - _DICTIONARY_BYTES) : found.start()].rpartition(b" obj")[2]
        if any(name in dictionary for name in _PICTURES) or b"/Subtype/Image" in dictionary.replace(b" ", b""):
            unread = "a picture in a PDF file"
            continue
        try:
            plain = _filtered(data[found.end() : at], dictionary, left + 1)
        except (zlib.error, ValueError, binascii.Error):
            unread = "a stream of a PDF file that cannot be read"
            continue
        left -= len(plain)
        if left < 0:
            has_more = True
            break
        streams.append(plain)
    outside.append(data[at:])
    fonts = (_maps_of(one, has_time) for one in streams if b"beginbf" in one)
    maps = list(islice(chain.from_iterable(fonts), _MAPS_MAX))
    yield _texts(b"\n".join(outside), [], has_time, is_whole=True)
    if has_more:
        yield Member("", b"", is_whole=False)
    for one in streams:
        if container_of(one) is not None:  # an embedded file
            yield Member("", one, is_whole=not has_more)
        else:
            yield _texts(one, maps, has_time, is_whole=not has_more)
    if unread is not None:
        raise UnscannableError(unread)


def _texts(content: bytes, maps: list[_Map], has_time: Callable[[], bool], *, is_whole: bool) -> Member:
    """The strings, and all that is printable: metadata, comments, embedded texts."""
    strings = "\n".join(_strings(content, maps, has_time))
    return Member("", f"{strings}\n{printable_stretches(content)}".encode("utf-8", "replace"), is_whole)


def _filtered(data: bytes, dictionary: bytes, size_max: int) -> bytes:
    if b"/LZWDecode" in dictionary or b"/RunLengthDecode" in dictionary:
        raise ValueError
    if b"/ASCII85Decode" in dictionary:
        data = base64.a85decode(data.strip().removeprefix(b"<~").removesuffix(b"~>"))
    if b"/ASCIIHexDecode" in dictionary:
        digits = data.translate(None, b" \t\r\n\f>")
        data = binascii.unhexlify(digits + b"0" * (len(digits) % 2))
    if b"/FlateDecode" in dictionary:
        data = zlib.decompressobj().decompress(data, size_max)
    return data


def _strings(content: bytes, maps: list[_Map], has_time: Callable[[], bool]) -> Iterator[str]:
    """A line of text for each run of strings without a move to another place between them."""
    line: list[str] = []
    for number, found in enumerate(_SHOWN.finditer(content)):
        if number % _BETWEEN_LOOKS == 0 and not has_time():
            break
        token = found[0]
        if token[:1] not in (b"(", b"<"):
            if line:
                yield "".join(line)
            line = []
            continue
        raw = _unescaped(token[1:-1]) if token[:1] == b"(" else _unhexed(token[1:-1])
        text = raw[2:].decode("utf-16-be", "replace") if raw.startswith(_UTF_16) else raw.decode("latin-1")
        for one in maps:
            text = "".join(one.texts(raw, has_time)) or text
        line.append(text)
    if line:
        yield "".join(line)


def _unescaped(raw: bytes) -> bytes:
    """7.3.4.2."""

    def replaced(found: re.Match[bytes]) -> bytes:
        escaped = found[1]
        if escaped[:1] in b"01234567":
            return bytes((int(escaped, 8) & 0xFF,))
        return b"" if escaped[-1:] == b"\n" else _ESCAPES.get(escaped, escaped)

    return _ESCAPE.sub(replaced, raw) if b"\\" in raw else raw


def _unhexed(digits: bytes) -> bytes:
    digits = digits.translate(None, b" \t\r\n\f")
    return binascii.unhexlify(digits + b"0" * (len(digits) % 2))


def _numbers(raw: bytes, width: int) -> Iterable[int]:
    """Of ``width`` bytes each, without a last one that is shorter."""
    if width == 1:
        return raw
    if width == 2:  # most fonts: three times as fast as what follows
        return struct.unpack(f">{len(raw) // 2}H", raw[: len(raw) // 2 * 2])
    return (int.from_bytes(raw[at : at + width]) for at in range(0, len(raw) - width + 1, width))


def _maps_of(stream: bytes, has_time: Callable[[], bool]) -> Iterator[_Map]:
    """Of a ToUnicode stream: one for each width of its numbers, as a line of another width must hide no other."""
    by_width: dict[int, dict[int, str]] = {}
    left = _MAPPED_MAX
    for number, (first, last, texts) in enumerate(_mapped_ranges(stream)):
        if left <= 0 or ((first != last or number % _BETWEEN_LOOKS == 0) and not has_time()):
            break
        width = (len(first) + 1) // 2
        mapped = dict(islice(_mapped(int(first, 16), int(last, 16), texts), left))
        left -= len(mapped)
        if mapped:
            by_width.setdefault(width, {}).update(mapped)
    return (_Map(width, text_of) for width, text_of in by_width.items())


def _mapped_ranges(stream: bytes) -> Iterator[tuple[bytes, bytes, list[str]]]:
    """Digits of the first and the last number; one text for each, or that of the first, after which the last character
    goes up."""
    for kind, block in ((found[1], found[2]) for found in _MAPS.finditer(stream)):
        if kind == b"char":
            yield from ((one[1], one[1], [_utf_16(one[2])]) for one in _MAPPED_ONE.finditer(block))
        else:
            for one in _MAPPED_RANGE.finditer(block):
                if one[4] is None:
                    yield one[1], one[2], [_utf_16(one[3])]
                else:
                    yield one[1], one[2], [_utf_16(text[1]) for text in _MAPPED_TEXT.finditer(one[4])]


def _mapped(first: int, last: int, texts: list[str]) -> Iterator[tuple[int, str]]:
    numbers = range(first, last + 1)
    if len(texts) == 1 and texts[0]:
        begin, code = texts[0][:-1], ord(texts[0][-1])
        return ((number, begin + chr(min(0x10FFFF, code + number - first))) for number in numbers)
    return zip(numbers, texts, strict=False)


def _utf_16(digits: bytes) -> str:
    return binascii.unhexlify(digits[: len(digits) // 2 * 2]).decode("utf-16-be", "replace")
