"""One encoded text to what it encodes, or None where it is none: URL, escapes, base64, hexadecimal, gzip."""

import base64
import binascii
import re
import zlib
from typing import Final
from urllib.parse import unquote_to_bytes

_GZIP: Final = b"\x1f\x8b"
_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_NOT_TEXT: Final = bytes(code for code in range(32) if code not in b"\t\n\r\x1b")
_CONTROL_SHARE_MAX: Final = 0.02
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt\"'/\\]))")
_SIMPLE_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}
_SPACE: Final = b" \t\r\n"
_HEXADECIMAL: Final = frozenset(b"0123456789abcdefABCDEF")
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


def from_percent(encoded: bytes) -> bytes:
    """RFC 3986, section 2.1; a plus is a space, as in forms."""
    return unquote_to_bytes(encoded.replace(b"+", b" "))


def from_escapes(encoded: str) -> str:
    r"""``\u0041``, ``\x41``, ``\"`` and the like (RFC 8259, section 7; surrogate pairs are joined)."""

    def replaced(match: re.Match[str]) -> str:
        hexadecimal = match[1] or match[2]
        return chr(int(hexadecimal, 16)) if hexadecimal else _SIMPLE_ESCAPES.get(match[3], match[3])

    text = _ESCAPE.sub(replaced, encoded)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def from_hexadecimal(encoded: bytes) -> bytes | None:
    token = encoded[2:] if encoded[:2] in (b"0x", b"0X") else encoded
    if len(token) % 2 or not _HEXADECIMAL.issuperset(token):
        return None
    return binascii.unhexlify(token)


def from_base64(encoded: bytes) -> bytes | None:
    """RFC 4648, both alphabets, padded or not, broken into lines or not."""
    token = encoded.translate(_TO_STANDARD, _SPACE).rstrip(b"=")
    if len(token) % 4 == 1:
        return None
    try:
        return base64.b64decode(token + b"=" * (-len(token) % 4), validate=True)
    except binascii.Error:
        return None


def is_compressed(data: bytes) -> bool:
    return data[:2] == _GZIP or data[:2] in _ZLIB


def decompress(data: bytes, size_max: int) -> tuple[bytes, bool] | None:
    """gzip or zlib (RFC 1952, 1950), and whether that was all of it; None: not compressed after all."""
    try:
        machine = zlib.decompressobj(wbits=47)
        plain = machine.decompress(data, size_max)
    except zlib.error:
        return None
    return (plain, not machine.unconsumed_tail) if plain else None


def as_text(data: bytes) -> str | None:
    """The text that these bytes are in UTF-8 or UTF-16; None where they are no text."""
    if not data:
        return None
    if data.count(0) * 3 >= len(data) > 3 and len(data) % 2 == 0:
        return _printable(data, "utf-16-be" if data[0] == 0 else "utf-16-le")
    return _printable(data, "utf-8")


def _printable(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    raw = text.encode("latin-1", "replace")
    controls = len(raw) - len(raw.translate(None, _NOT_TEXT))
    return text if controls <= _CONTROL_SHARE_MAX * len(raw) else None
