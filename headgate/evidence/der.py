"""Whether bytes are one value in DER (X.690, section 10): the only encoding of it, and nothing behind it.

What was read with a reader that is content with less could be changed without being another value. Lengths and
nesting are looked at, which is where BER leaves a choice; what values mean, their reader says.
"""

from typing import Final

from headgate.kernel.errors import ValidationError

_CONSTRUCTED: Final = 0x20
_INTEGER, _BOOLEAN = 0x02, 0x01
_LONG_TAG: Final = 0x1F
_DEEPEST: Final = 64


def check_der(data: bytes) -> None:
    """Raises ValidationError: another encoding, or bytes behind the value."""
    if _check_value(data, 0, len(data), 0) != len(data):
        raise ValidationError("not DER: there are bytes behind the value")


def _check_value(data: bytes, at: int, end: int, depth: int) -> int:
    """Where the value that begins at ``at`` ends."""
    if depth > _DEEPEST:
        raise ValidationError("not DER: nested too deep")
    if end - at < 2:
        raise ValidationError("not DER: a value is cut off")
    tag = data[at]
    if tag & _LONG_TAG == _LONG_TAG:
        raise ValidationError("not DER of a kind that is known here: a tag of several bytes")
    start, length = _length(data, at + 1, end)
    stop = start + length
    if stop > end:
        raise ValidationError("not DER: a value is longer than what it is in")
    if tag & _CONSTRUCTED:
        inner = start
        while inner < stop:
            inner = _check_value(data, inner, stop, depth + 1)
    elif tag == _BOOLEAN and data[start:stop] not in (b"\x00", b"\xff"):
        raise ValidationError("not DER: a truth value is neither 00 nor FF")
    elif tag == _INTEGER and not _is_shortest(data[start:stop]):
        raise ValidationError("not DER: a number has more bytes than it needs")
    return stop


def _length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where the contents begin, and how long they are: in the shortest form, and never until an end mark."""
    first = data[at]
    if first < 0x80:
        return at + 1, first
    count = first & 0x7F
    octets = data[at + 1 : min(at + 1 + count, end)]
    if not 1 <= count <= 4 or len(octets) != count:
        raise ValidationError("not DER: a length is indefinite, too long or cut off")
    length = int.from_bytes(octets)
    if octets[0] == 0 or length < 0x80:
        raise ValidationError("not DER: a length has more bytes than it needs")
    return at + 1 + count, length


def _is_shortest(octets: bytes) -> bool:
    return len(octets) == 1 or (
        len(octets) > 1 and not (octets[0] in (0x00, 0xFF) and octets[0] >> 7 == octets[1] >> 7)
    )
