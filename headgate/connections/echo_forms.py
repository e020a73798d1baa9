"""The forms in which services quote a secret, enumerated: what is looked for in an answer is bytes.

Percent-encoding once and twice (RFC 3986 leaves open which characters are encoded), JSON and HTML as other languages
write them, hexadecimal, quoted-printable (RFC 2045, section 6.7) and the Q encoding of headers (RFC 2047, section 4.2),
UTF-16, and base64 once and twice, however it is aligned.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

from headgate.connections.credential import SECRET_LENGTH_MIN

_BASE64_EDGE: Final = 4
_PERCENT: Final = re.compile(r"%[0-9A-F]{2}")
_HEXADECIMAL: Final = re.compile(rb"=[0-9A-F]{2}")


def _table(names: Mapping[str, str]) -> dict[int, str]:
    return {ord(character): name for character, name in names.items()}


_JSON_SHORT: Final = {'"': '\\"', "\\": "\\\\"}
_HTML: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_QUOTED: Final = {**_HTML, '"': "&quot;"}
_ESCAPES: Final = (
    # What is more than RFC 8259 asks for: .NET (System.Text.Json), Gson, and Go (encoding/json) with Rails.
    _table({"\\": "\\\\"} | {one: f"\\u{ord(one):04X}" for one in "\"&'+<>`"}),
    _table(_JSON_SHORT | {one: f"\\u{ord(one):04x}" for one in "&'<=>"}),
    _table(_JSON_SHORT | {one: f"\\u{ord(one):04x}" for one in "&<>"}),
    # HTML: what it asks for, mustache, Python's html, Go's and Jinja's templates.
    _table(_HTML | {'"': "&quot;"}),
    _table(_QUOTED | {"'": "&#39;", "/": "&#x2F;", "`": "&#x60;", "=": "&#x3D;"}),
    _table(_QUOTED | {"'": "&#x27;"}),
    _table(_HTML | {'"': "&#34;", "'": "&#39;"}),
    _table(_HTML | {'"': "&#34;", "'": "&#39;", "+": "&#43;"}),
)
"""How writers of other languages escape what need not be escaped."""

_UNESCAPED: Final = ("", "/", "!'()*", ";,/?:@&=+$!'()*#")
"""What is left as it is by strict encoders, Python's, and ECMAScript's two."""


def forms_of(text: str) -> frozenset[bytes]:
    """All of one secret; none of one that is too short to be told from other text."""
    if len(text) < SECRET_LENGTH_MIN:
        return frozenset()
    raw = text.encode()
    in_json = json.dumps(text)[1:-1]
    escaped = {in_json, in_json.replace("/", "\\/"), *(text.translate(table) for table in _ESCAPES)}
    written = {text, *escaped, *_percent_encoded(text)}
    forms = {one.encode() for one in written} | {raw.hex().encode(), raw.hex().upper().encode()}
    forms |= _quoted_printable(raw)
    wide = {text.encode(form) for form in ("utf-16-le", "utf-16-be")}
    forms |= wide | {one.encode(form) for one in escaped for form in ("utf-16-le", "utf-16-be")}
    once = _base64_forms([raw, *wide])
    return frozenset(forms | once | _base64_forms(_base64_forms([raw])))


def _percent_encoded(text: str) -> set[str]:
    once = {quote(text, safe=kept) for kept in _UNESCAPED} | {quote_plus(text)}
    once.add("".join(f"%{byte:02X}" for byte in text.encode()))
    once |= {_PERCENT.sub(lambda found: found.group().lower(), one) for one in once}
    # An address within an address.
    return once | {one.replace("%", "%25") for one in once}


def _quoted_printable(raw: bytes) -> set[bytes]:
    body = b"".join(bytes([one]) if 33 <= one <= 126 and one != ord("=") else b"=%02X" % one for one in raw)
    spaced = body.replace(b"=20", b" ")
    header = b"".join(bytes([one]) if bytes([one]).isalnum() else b"=%02X" % one for one in raw)
    found = {body, spaced, header, header.replace(b"=20", b"_")}
    return found | {_HEXADECIMAL.sub(lambda one: one.group().lower(), form) for form in found}


def _base64_forms(texts: Iterable[bytes]) -> set[bytes]:
    """In both alphabets (RFC 4648), at each of the three places in which a group can begin."""
    forms: set[bytes] = set()
    for text in texts:
        for shift in range(3):
            aligned = base64.b64encode(b"\0" * shift + text)
            # The characters at both edges hold bits of the neighbours.
            inner = aligned[_BASE64_EDGE if shift else 0 :].rstrip(b"=")
            inner = inner[: len(inner) - (1 if (shift + len(text)) % 3 else 0)]
            if len(inner) >= SECRET_LENGTH_MIN:
                forms |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return forms
