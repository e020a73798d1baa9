"""Whether what was matched is a thing of its own, or a part of a longer number, word or path."""

from typing import Final

_WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DIGITS: Final = frozenset(b"0123456789")
_JOINTS: Final = frozenset(b".,-/")


def stands_alone(buffer: bytes, start: int, end: int) -> bool:
    """Not inside a word, nor inside a longer number that dots, commas, dashes or slashes hold together."""
    if start > 0:
        before = buffer[start - 1]
        if before in _WORD or (before in _JOINTS and start > 1 and buffer[start - 2] in _DIGITS):
            return False
    if end < len(buffer):
        after = buffer[end]
        if after in _WORD or (after in _JOINTS and end + 1 < len(buffer) and buffer[end + 1] in _DIGITS):
            return False
    return True
