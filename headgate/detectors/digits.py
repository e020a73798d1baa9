"""Digits of some base with anything between them: separators dropped, decoded at every alignment, printable parts kept.

The engine decodes (``regorus.DigitTexts``). All steps are linear.
"""

import binascii
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from regorus import BytePattern, DigitTexts, long_words, texts_in

from headgate.detectors.forms import ENCODINGS

_UPPER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER: Final = _UPPER.lower()
_HEX_DIGITS: Final = b"0123456789abcdefABCDEF"
_LINES: Final = BytePattern(
    rb"(?m)(?:^[ \t]*[0-9A-Fa-f]{4,16}|[ \t][0-9A-Fa-f]{8}):?[ \t]+((?:[0-9A-Fa-f]{2,8}[ \t]{1,2}){1,16})[^\n]*$"
)
_DASHED_64: Final = BytePattern(rb"(?:[A-Za-z0-9+/]{2,20}-){4}")
_GROUPED: Final = ENCODINGS.add(_LINES.pattern + rb"|" + _DASHED_64.pattern)
"""Most texts have neither, which one pass tells."""
_WORD_BYTES: Final = 16
"""Of what the digits of base 32 begin in."""
_LOWER_32: Final = BytePattern(rb"[a-z2-7]{16,}(?:\.[a-z2-7]{4,})*")
_HEX_32: Final = BytePattern(rb"[0-9A-V]{20,}|[0-9a-v]{20,}")
_HEX_32_ORDER: Final = bytes.maketrans(_UPPER + _LOWER + b"234567", b"0123456789abcdefghijklmnop" * 2 + b"qrstuv")


type _Base = Literal["hex", "base64", "base64url", "base32"]


class Spelled(NamedTuple):
    """From where to where in the buffer, how, and what it spells."""

    start: int
    end: int
    step: str
    data: bytes


def spelled_digits(buffer: bytes) -> Iterator[Spelled]:
    is_grouped = _GROUPED.search(buffer) is not None
    yield from _spelled(buffer, "hex", "hex")
    if is_grouped and _LINES.search(buffer) is not None:
        for start, end, digits in _hexdumps(buffer):
            for data in texts_in(binascii.unhexlify(digits)):
                yield Spelled(start, end, "hexdump", data)
    yield from _spelled(buffer, "base64url", "base64")
    if is_grouped and _DASHED_64.search(buffer) is not None:  # a separator here, a digit above
        yield from _spelled(buffer, "base64", "base64")
    yield from _spelled(buffer, "base32", "base32")
    words = long_words(buffer, _WORD_BYTES)
    for start, end in _lower_32(buffer, words):
        digits = buffer[start:end].replace(b".", b"").translate(_HEX_32_ORDER)
        yield from _in_token(start, end, "base32", digits)
    for found in (found for word in words for found in _HEX_32.finditer(buffer, *word)):
        if found[0].translate(None, _HEX_DIGITS):  # else it is hexadecimal, or a number
            yield from _in_token(found.start(), found.end(), "base32hex", found[0])


def _lower_32(buffer: bytes, words: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """From where to where; behind a dot it goes on in the words after it."""
    done = 0
    for start, end in words:
        at = max(start, done)
        while at < end and (begun := _LOWER_32.search(buffer, at, end)) is not None:
            whole = _LOWER_32.match(buffer, begun.start()) or begun
            yield whole.span()
            at = done = whole.end()


def _spelled(buffer: bytes, base: _Base, step: str) -> Iterator[Spelled]:
    for start, end, data in DigitTexts(buffer, base):
        yield Spelled(start, end, step, data)


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
