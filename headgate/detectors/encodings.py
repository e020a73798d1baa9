"""One encoded text to what it encodes, in URLs and escapes; and what is printable in a file."""

import html
import re
from typing import Final
from urllib.parse import unquote_to_bytes

from regorus import BytePattern

_STRETCH: Final = BytePattern(rb"[\t\x20-\x7e]{8,}")
_WIDE_STRETCH: Final = BytePattern(rb"(?:[\t\x20-\x7e]\0){8,}")
_ESCAPE: Final = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|([0-7]{3})"
    r"|([0-9a-f]{2}) |([nrt\"'/\\]))"
)
_PERCENT_U: Final = re.compile(rb"%u([0-9a-fA-F]{4})")
_CODE_POINT: Final = re.compile(rb"[Uu]\+([0-9a-fA-F]{4,6})")
_CODE_MAX: Final = 0x10FFFF
_SIMPLE_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}


def from_percent(encoded: bytes) -> bytes:
    """RFC 3986, section 2.1; a plus is a space, as in forms. ``%u0041`` as older JavaScript writes it."""
    if b"%u" in encoded:
        encoded = _PERCENT_U.sub(lambda found: chr(int(found[1], 16)).encode("utf-8", "replace"), encoded)
    return unquote_to_bytes(encoded.replace(b"+", b" "))


def from_escapes(encoded: str) -> str:
    r"""``\u0041``, ``\x41``, ``\"`` and the like (RFC 8259, section 7; surrogate pairs are joined), ``\u{41}``,
    ``\U00000041``, ``\101`` and CSS's ``\41 ``.
    """

    def replaced(match: re.Match[str]) -> str:
        if match[7]:
            return _SIMPLE_ESCAPES.get(match[7], match[7])
        code = int(match[5], 8) if match[5] else int(match[1] or match[2] or match[3] or match[4] or match[6], 16)
        return chr(code) if code <= _CODE_MAX else ""

    text = _ESCAPE.sub(replaced, encoded)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def from_entities(encoded: bytes) -> bytes:
    """HTML's character references, named and numeric, with or without a semicolon."""
    return html.unescape(encoded.decode("utf-8", "replace")).encode("utf-8", "replace")


def from_code_points(encoded: bytes) -> bytes:
    """``U+0041 U+004B``."""
    codes = (int(found[1], 16) for found in _CODE_POINT.finditer(encoded))
    return "".join(chr(code) for code in codes if code <= _CODE_MAX).encode("utf-8", "replace")


def printable_stretches(data: bytes) -> str:
    """What a reader of a binary file finds in it: runs of ASCII, in eight bits or in sixteen, a line each."""
    found = [match[0].decode("ascii") for match in _STRETCH.finditer(data)]
    wide = [match[0].replace(b"\0", b"").decode("ascii") for match in _WIDE_STRETCH.finditer(data)]
    return "\n".join(found + wide)
