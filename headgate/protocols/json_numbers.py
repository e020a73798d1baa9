"""Integers in JSON that servers read as different numbers.

Python and Java read 9007199254740993 exactly; JavaScript, Go and jq read a double, 9007199254740992 (RFC 8259,
section 6: interoperable within what a double holds).
"""

from typing import Final

from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import AmbiguousRequestError

_EXACT_UP_TO: Final = 1 << 53


# Sixteen digits in a row: nothing shorter is beyond 2^53. A fifth of the time that a regular expression takes.
_DIGITS_AS_ZEROS: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_NUMBER: Final = b"0" * 16


def refuse_inexact_integers(text: bytes, value: JsonValue) -> None:
    """``value`` is what ``text`` says; one pass over the bytes tells that there is nothing to look for.

    Raises AmbiguousRequestError.
    """
    if _LONG_NUMBER not in text.translate(_DIGITS_AS_ZEROS):
        return
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, int) and abs(one) > _EXACT_UP_TO and not _is_exact(one):
            raise AmbiguousRequestError(
                "the body holds an integer that a double cannot: servers read different numbers; send it as text",
                details={"field": "body"},
            )


def _is_exact(integer: int) -> bool:
    try:
        return int(float(integer)) == integer
    except OverflowError:
        return False
