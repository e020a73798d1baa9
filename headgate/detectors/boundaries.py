"""Whether what was matched is a thing of its own, or a part of a longer number, word or path."""

from typing import Final

_WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DIGITS: Final = frozenset(b"0123456789")
_JOINTS: Final = frozenset(b".,-/")
_JOINTS_OF_LONG: Final = frozenset(b".-/")
_AMOUNT_DIGITS_MAX: Final = 13
"""Nobody writes amounts of so many digits without grouping them."""


def stands_alone(buffer: bytes, start: int, end: int) -> bool:
    """Not inside a word, nor inside a longer number that dots, commas, dashes or slashes hold together.

    A comma holds digits together in amounts (``1,234,567``, ``12345678,90``). What is too long for one, or has other
    characters than digits, is a field of its own: in CSV the next field begins with a digit as often as not.
    """
    joints = _JOINTS if end - start < _AMOUNT_DIGITS_MAX and buffer[start:end].isdigit() else _JOINTS_OF_LONG
    if start > 0:
        before = buffer[start - 1]
        if before in _WORD or (before in joints and start > 1 and buffer[start - 2] in _DIGITS):
            return False
    if end < len(buffer):
        after = buffer[end]
        if after in _WORD or (after in joints and end + 1 < len(buffer) and buffer[end + 1] in _DIGITS):
            return False
    return True
