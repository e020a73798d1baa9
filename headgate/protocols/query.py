"""Query strings and form bodies: ``application/x-www-form-urlencoded`` (WHATWG URL, section 5).

Names and values are UTF-8; what decoders would read differently (a bare ``%``, bytes that are not UTF-8, brackets that
name no path) is refused.
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote_to_bytes

from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.protocols.bracket_names import refuse_bracket_names

type Pairs = tuple[tuple[str, str], ...]

_VISIBLE: Final = re.compile(r"[!-~]*")
_BARE_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BRACKET_EQUALS: Final = re.compile(r"(?:\]|%5[Dd])=")
_MARKS_OF_OTHER_NAMES: Final = "%+.[]"
"""Without one of them, no name is read as another."""
FIELDS_MAX: Final = 1000
"""Node.js and PHP drop what comes after so many; ten megabytes of ``a&`` once stopped the gate for five seconds."""
NAME_BYTES_MAX: Final = 100
VALUE_BYTES_MAX: Final = 1 << 20
"""Of a form: busboy cuts what is longer."""


def parse_pairs(text: str, *, field: str) -> Pairs:
    """The names and values, in order. Raises AmbiguousRequestError and PayloadTooLargeError, naming ``field``."""
    if not text:
        return ()
    if text.count("&") >= FIELDS_MAX:
        raise PayloadTooLargeError(
            f"the {field} has more than {FIELDS_MAX} members", details={"field": field, "max_count": FIELDS_MAX}
        )
    if _VISIBLE.fullmatch(text) is None or "#" in text:
        raise _ambiguous(field, "holds characters that must be percent-encoded")
    if ";" in text:
        # Go drops such a member; older servers take it for ``&``.
        raise _ambiguous(field, "holds a semicolon: write it as %3B")
    if _BARE_PERCENT.search(text) is not None:
        raise _ambiguous(field, "holds a percent sign that encodes nothing")
    pairs: list[tuple[str, str]] = []
    for piece in text.split("&"):
        if piece:
            name, _, value = piece.partition("=")
            if "=" in value and _BRACKET_EQUALS.search(value) is not None:
                # qs takes everything before it for the name.
                raise _ambiguous(field, "a value contains ]=. Write it as %5D%3D")
            pairs.append((_decode(name, field), _decode(value, field)))
    if any(one in text for one in _MARKS_OF_OTHER_NAMES):
        refuse_bracket_names((name for name, _ in pairs), field=field)
    return tuple(pairs)


def parse_form(text: str) -> Pairs:
    """The members of a form that is a body. Raises AmbiguousRequestError and PayloadTooLargeError."""
    pairs = parse_pairs(text, field="body")
    if "%" in text and any("%" in piece and "=" not in piece for piece in text.split("&")):
        raise _ambiguous("body", "an encoded name without = is dropped by some servers")
    if text.startswith("?") or any(not name for name, _ in pairs):
        raise _ambiguous("body", "a question mark at its start, or a member without a name, is dropped by some servers")
    for name, value in pairs:
        if len(name) > NAME_BYTES_MAX or len(value) > VALUE_BYTES_MAX:
            raise PayloadTooLargeError(
                f"a name of more than {NAME_BYTES_MAX} bytes or a value of more than {VALUE_BYTES_MAX}: servers cut it",
                details={"field": "body"},
            )
    return pairs


def lists_by_name(pairs: Iterable[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Every name with the list of its values: nothing is lost, and no reader has to choose."""
    members: dict[str, list[JsonValue]] = {}
    for name, value in pairs:
        members.setdefault(name, []).append(value)
    return dict(members)


def _decode(text: str, field: str) -> str:
    if "+" in text:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise _ambiguous(field, "percent-encoded bytes that are not UTF-8") from error


def _ambiguous(field: str, reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(f"the {field} can be read in more than one way: {reason}", details={"field": field})
