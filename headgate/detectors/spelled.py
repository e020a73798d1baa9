"""Texts spelled out in other ways: lists of numbers, base85, letters set apart, strings joined, backwards, rotated."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from regorus import BytePattern, base85_texts, texts_in

from headgate.detectors.digits import Spelled
from headgate.detectors.forms import ENCODINGS

_SEPARATORS: Final = rb"[ \t\r\n,;:|.\-]{1,3}"
_DECIMAL_RUN: Final = BytePattern(rb"(?:[0-9]{2,3}" + _SEPARATORS + rb"){7,}[0-9]{2,3}")
_OCTAL_RUN: Final = BytePattern(rb"(?:0o?[0-7]{2,3}" + _SEPARATORS + rb"){7,}0o?[0-7]{2,3}")
_BINARY_RUN: Final = BytePattern(rb"(?:(?:0b)?[01]{5,8}" + _SEPARATORS + rb"){7,}(?:0b)?[01]{5,8}|[01]{64,}")
_NUMBER: Final = re.compile(rb"[0-9]+")
_SPACED_RUN: Final = BytePattern(
    rb"(?:^|[\s\"':=\x00])((?:[!-~](?:[ \t]|\r?\n|[.,_\-|/*+])){11,}[!-~])(?:[\s\"'\x00&]|$)"
)
_SPACED: Final = BytePattern(rb"([!-~])(?:[ \t]|\r?\n|[.,_\-|/*+])")
_JUNCTION: Final = BytePattern(rb"""["'`]\s*(?:[+.&]|\.\.|<>|\|\|)?\s*["'`]""")
_CONCATENATED_RUN: Final = BytePattern(rb"""(?:[^\s"'`\x00]+["'`]\s*(?:[+.&]|\.\.|<>|\|\|)?\s*["'`])+[^\s"'`\x00]+""")
_ENDS_IN_CAPITAL: Final = ENCODINGS.add(rb"[a-z]{2}[A-Z] [a-z]{2}")
_NAME_BACKWARDS: Final = BytePattern(rb"(?:^|[^\w])[a-z]{2,20}[A-Z] [a-z]{2,20}[A-Z](?:[^\w]|$)")
"""Words of a name, each with its capital letter at the end."""
_UPPER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ROT13: Final = bytes.maketrans(
    _UPPER + _UPPER.lower(), _UPPER[13:] + _UPPER[:13] + _UPPER[13:].lower() + _UPPER[:13].lower()
)
_FOLDED: Final = tuple(one for letter in "\u017f\u212a" for one in (letter.encode(), letter.encode()[::-1]))
"""A pattern takes these letters for "s" and "k", also where bytes read backwards make one."""
_TURNED_BEFORE: Final = 256
_TURNED_AFTER: Final = 8192


def spelled(buffer: bytes) -> Iterator[Spelled]:
    for find, step, decode in _RUNS if _ANY_RUN.search(buffer) is not None else ():
        for found in find.finditer(buffer):
            for data in decode(found[0]):
                yield Spelled(found.start(), found.end(), step, data)
    for start, end, data in base85_texts(buffer):
        yield Spelled(start, end, "base85", data)


def turned_words(words: Iterable[bytes]) -> BytePattern:
    """Matches each text in which ``turned`` can find one of the words: the longest ASCII part of that word, reversed or
    rotated."""
    ascii_parts = [max(re.findall(rb"[\x00-\x7f]+", word), key=len) for word in words]
    both = [*(word[::-1] for word in ascii_parts), *(word.translate(ROT13) for word in ascii_parts)]
    return BytePattern(b"(?i)" + b"|".join(map(re.escape, both)))


def turned(buffer: bytes, words: BytePattern, as_turned: BytePattern) -> Iterator[Spelled]:
    """Backwards and rotated by thirteen letters, around what then is one of ``words``: what credentials begin with."""
    is_plain = buffer.isascii() or not any(one in buffer for one in _FOLDED)
    if is_plain and as_turned.search(buffer) is None:
        return
    for step, other in (("reversed", buffer[::-1]), ("rot13", buffer.translate(ROT13))):
        done = 0
        for found in words.finditer(other):
            if found.start() < done:
                continue
            start = max(done, found.start() - _TURNED_BEFORE, other.rfind(b"\x00", 0, found.start()) + 1)
            end = min(found.end() + _TURNED_AFTER, len(other))
            stop = other.find(b"\x00", found.end(), end)
            done = end = end if stop < 0 else stop
            place = (start, end) if step == "rot13" else (len(other) - end, len(other) - start)
            yield Spelled(place[0], place[1], step, other[start:end])


def backwards(buffer: bytes) -> Iterator[Spelled]:
    """Texts with a name of a person that is read from its end."""
    if _ENDS_IN_CAPITAL.search(buffer) is None:
        return
    done = 0
    for found in _NAME_BACKWARDS.finditer(buffer):
        if found.start() < done:
            continue
        start = max(done, found.start() - _TURNED_AFTER, buffer.rfind(b"\x00", 0, found.start()) + 1)
        stop = buffer.find(b"\x00", found.end(), found.end() + _TURNED_AFTER)
        done = end = min(len(buffer), found.end() + _TURNED_AFTER) if stop < 0 else stop
        yield Spelled(start, end, "reversed", buffer[start:end][::-1])


def _from_decimals(run: bytes) -> Iterator[bytes]:
    numbers = _NUMBER.findall(run)
    yield from texts_in(bytes(int(one) if len(one) < 3 or one < b"256" else 0 for one in numbers))
    if b"8" not in run and b"9" not in run:
        yield from _from_octals(run)


def _from_octals(run: bytes) -> Iterator[bytes]:
    yield from texts_in(bytes(int(one, 8) & 0xFF for one in _NUMBER.findall(run.replace(b"o", b""))))


def _from_binary(run: bytes) -> Iterator[bytes]:
    groups = _NUMBER.findall(run.replace(b"0b", b" "))
    if len(groups) > 1:
        yield from texts_in(bytes(int(one, 2) & 0xFF for one in groups))
    digits = b"".join(groups)
    for shift in range(8):
        whole = (len(digits) - shift) // 8
        yield from texts_in(int(digits[shift : shift + 8 * whole] or b"0", 2).to_bytes(whole, "big"))


def _from_spaced(run: bytes) -> Iterator[bytes]:
    for found in _SPACED_RUN.finditer(run):
        yield _SPACED.sub(lambda pair: pair[1], found[1])


def _from_concatenated(run: bytes) -> Iterator[bytes]:
    yield _JUNCTION.sub(b"", run)


_RUNS: Final[tuple[tuple[BytePattern, str, Callable[[bytes], Iterator[bytes]]], ...]] = (
    (_DECIMAL_RUN, "decimal", _from_decimals),
    (_OCTAL_RUN, "octal", _from_octals),
    (_BINARY_RUN, "binary", _from_binary),
    (_SPACED_RUN, "spaced", _from_spaced),
    (_CONCATENATED_RUN, "concatenated", _from_concatenated),
)
_ANY_RUN: Final = ENCODINGS.add(b"|".join(find.pattern for find, _, _ in _RUNS))
"""Most texts have none, which one pass tells."""
