"""Digits of some base with anything between them: separators dropped, decoded at every alignment, printable parts kept.

Encoders break what they write into groups and lines, and words stand before and after it. Where it begins is not
guessed: one pass for each alignment decodes all of a buffer, and only what is text comes out as text. All steps are
linear, in the standard library's C code or in RE2.
"""

import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from regorus import BytePattern

PRINTABLE_MIN: Final = 12
"""Printable bytes in a row that count as a text."""

_STRETCH: Final = BytePattern(rb"[\t\n\r\x20-\x7e]{%d,}" % PRINTABLE_MIN)
_PACKED: Final = (b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_BLOCK_BYTES: Final = 512
_EDGE_BYTES: Final = 8
_EDGED_BYTES: Final = 512
_UPPER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER: Final = _UPPER.lower()
_HEX_DIGITS: Final = b"0123456789abcdefABCDEF"
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
_HEX_PREFIX: Final = BytePattern(rb"0[xX]|\\x")
_LINES: Final = BytePattern(
    rb"(?m)(?:^[ \t]*[0-9A-Fa-f]{4,16}|[ \t][0-9A-Fa-f]{8}):?[ \t]+((?:[0-9A-Fa-f]{2,8}[ \t]{1,2}){1,16})[^\n]*$"
)
_LOWER_32: Final = BytePattern(rb"[a-z2-7]{16,}(?:\.[a-z2-7]{4,})*")
_DASHED_64: Final = BytePattern(rb"(?:[A-Za-z0-9+/]{2,20}-){4}")
_HEX_32: Final = BytePattern(rb"[0-9A-V]{20,}|[0-9a-v]{20,}")
_HEX_32_ORDER: Final = bytes.maketrans(_UPPER + _LOWER + b"234567", b"0123456789abcdefghijklmnop" * 2 + b"qrstuv")


class Spelled(NamedTuple):
    """From where to where in the buffer, how, and what it spells."""

    start: int
    end: int
    step: str
    data: bytes


def spelled_digits(buffer: bytes) -> Iterator[Spelled]:
    yield from _spelled(buffer, _HEX, buffer, "hex", _hex_shifts)
    if _LINES.search(buffer) is not None:
        for start, end, digits in _hexdumps(buffer):
            for data in texts_in(binascii.unhexlify(digits)):
                yield Spelled(start, end, "hexdump", data)
    yield from _spelled(buffer, _BASE64, buffer.translate(_URL_SAFE), "base64", _base64_shifts)
    if _DASHED_64.search(buffer) is not None:  # a separator here, a digit above
        yield from _spelled(buffer, _BASE64, buffer, "base64", _base64_shifts)
    yield from _spelled(buffer, _BASE32, buffer, "base32", _base32_shifts)
    for found in _LOWER_32.finditer(buffer):
        digits = found[0].replace(b".", b"").translate(_HEX_32_ORDER)
        yield from _in_token(found.start(), found.end(), "base32", digits)
    for found in _HEX_32.finditer(buffer):
        if found[0].translate(None, _HEX_DIGITS):  # else it is hexadecimal, or a number
            yield from _in_token(found.start(), found.end(), "base32hex", found[0])


def texts_in(data: bytes) -> Iterator[bytes]:
    """What is printable in decoded bytes, and what is packed in them."""
    for _, text in _placed_texts(data):
        yield text


class _Digits:
    """Those of a buffer, without what is between them, and the way back."""

    def __init__(self, buffer: bytes, others: bytes) -> None:
        self._buffer, self._others = buffer, others
        self.digits = buffer.translate(None, others)
        self._counts: list[int] | None = None

    def place(self, index: int) -> int:
        """Where in the buffer this digit stands."""
        if self._counts is None:
            blocks = range(0, len(self._buffer), _BLOCK_BYTES)
            lengths = (len(self._buffer[at : at + _BLOCK_BYTES].translate(None, self._others)) for at in blocks)
            self._counts = list(accumulate(lengths, initial=0))
        block = min(bisect_right(self._counts, index), len(self._counts) - 1) - 1
        low, high = block * _BLOCK_BYTES, min(len(self._buffer), (block + 1) * _BLOCK_BYTES)
        start, wanted = low, index - self._counts[block]
        while high - low > 1:
            middle = (low + high) // 2
            if len(self._buffer[start:middle].translate(None, self._others)) <= wanted:
                low = middle
            else:
                high = middle
        return low


class _Base(NamedTuple):
    others: bytes
    digits_per_byte: float


type _Shifts = Callable[[bytes], Iterator[tuple[int, bytes]]]


def _base(digits: bytes, digits_per_byte: float) -> _Base:
    return _Base(bytes(code for code in range(256) if code not in digits), digits_per_byte)


_HEX: Final = _base(_HEX_DIGITS, 2)
_BASE64: Final = _base(_UPPER + _LOWER + b"0123456789+/", 4 / 3)
_BASE32: Final = _base(_UPPER + b"234567", 8 / 5)


def _spelled(buffer: bytes, base: _Base, read: bytes, step: str, shifts: _Shifts) -> Iterator[Spelled]:
    if step == "hex":
        read = _HEX_PREFIX.sub(lambda found: b" " * len(found[0]), read) if b"0x" in read or b"0X" in read else read
    digits = _Digits(read, base.others)
    if len(digits.digits) < PRINTABLE_MIN * base.digits_per_byte:
        return
    for shift, decoded in shifts(digits.digits):
        for start, data in _placed_texts(decoded):
            first = digits.place(shift + int(start * base.digits_per_byte))
            last = digits.place(
                min(len(digits.digits) - 1, shift + int((start + len(data)) * base.digits_per_byte + 0.99) - 1)
            )
            end = min(last + 1, len(buffer))
            edged = _without_neighbours(data, read[first : first + _EDGE_BYTES], read[end - _EDGE_BYTES : end], base)
            yield Spelled(first, end, step, edged)


def _without_neighbours(data: bytes, head: bytes, tail: bytes, base: _Base) -> bytes:
    """The text, and a line for each place near its ends where a separator stands: what is beyond one may be digits of a
    word beside it, which came out as a letter or two."""
    starts = [data[cut : cut + _EDGED_BYTES] for cut in _cuts(head, base)]
    ends = [data[max(0, len(data) - cut - _EDGED_BYTES) : len(data) - cut] for cut in _cuts(tail[::-1], base)]
    return b"\n".join((data, *starts, *ends))


def _cuts(edge: bytes, base: _Base) -> list[int]:
    """Bytes before each separator."""
    cuts: set[int] = set()
    digits = 0
    for code in edge:
        if code in base.others:
            cuts |= {int(digits / base.digits_per_byte), int(digits / base.digits_per_byte) + 1}
        else:
            digits += 1
    return sorted(cuts - {0})


def _placed_texts(data: bytes) -> Iterator[tuple[int, bytes]]:
    for magic in _PACKED:
        packed = data.find(magic)
        if packed >= 0:
            yield packed, data[packed:]
    for found in _STRETCH.finditer(data):
        yield found.start(), found[0]


def _hex_shifts(digits: bytes) -> Iterator[tuple[int, bytes]]:
    for shift in (0, 1):
        part = digits[shift:]
        yield shift, binascii.unhexlify(part[: len(part) // 2 * 2])


def _base64_shifts(digits: bytes) -> Iterator[tuple[int, bytes]]:
    for shift in range(4):
        part = digits[shift:]
        tail = len(part) % 4
        whole = part[: len(part) - tail] + (part[len(part) - tail :] + b"=" * (4 - tail) if tail > 1 else b"")
        yield shift, binascii.a2b_base64(whole)


def _base32_shifts(digits: bytes) -> Iterator[tuple[int, bytes]]:
    yield from _number_shifts(digits.translate(_HEX_32_ORDER))


def _number_shifts(digits: bytes) -> Iterator[tuple[int, bytes]]:
    """Digits 0 to v, five bits each, at each of eight alignments. A base that is a power of two takes linear time."""
    number, bits = int(digits, 32), 5 * len(digits)
    for shift in range(8):  # of digits: five bits each, so that all eight alignments of bits come up
        whole = (bits - 5 * shift) // 8
        if whole < PRINTABLE_MIN:
            return
        kept = (number >> (bits - 5 * shift - 8 * whole)) & ((1 << (8 * whole)) - 1)
        yield shift, kept.to_bytes(whole, "big")


def _in_token(start: int, end: int, step: str, digits: bytes) -> Iterator[Spelled]:
    whole = 5 * len(digits) // 8
    decoded = (int(digits, 32) >> (5 * len(digits) - 8 * whole)).to_bytes(whole, "big")
    for data in texts_in(decoded):
        yield Spelled(start, end, step, data)


def _hexdumps(buffer: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Lines of ``xxd`` or ``hexdump -C`` that follow one another, without their offsets and what they show."""
    lines = [(found.start(), found.end(), found[1].translate(None, b" \t")) for found in _LINES.finditer(buffer)]
    group = lines[:1]
    for before, line in pairwise(lines):
        if line[0] > before[1] + 2:
            yield _joined(group)
            group = []
        group.append(line)
    yield _joined(group)


def _joined(lines: list[tuple[int, int, bytes]]) -> tuple[int, int, bytes]:
    digits = b"".join(line[2] for line in lines)
    return lines[0][0], lines[-1][1], digits[: len(digits) // 2 * 2]
