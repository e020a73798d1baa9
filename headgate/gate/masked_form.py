"""Forms in which some characters of their values are replaced: ``application/x-www-form-urlencoded``, and
``multipart/form-data`` (RFC 7578). Names, heads and boundaries stay as they are.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote_plus, unquote_plus

from regorus import as_text

from headgate.gate.masked_text import Path, Stretch, Stretches, as_written, mask, replaced, replaced_text
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.content_type import read_content_type
from headgate.protocols.multipart import split_pieces

_CHARACTER: Final = re.compile(r"(?:%[0-9A-Fa-f]{2}|.)(?:%[89ABab][0-9A-Fa-f])*")
"""With the octets that continue it in UTF-8."""
_HEAD_OF_ITS_BYTES: Final = re.compile(
    rb"^content-(?:length|md5|digest|encoding|transfer-encoding)[ \t]*:|^content-type[ \t]*:[^\r\n]*"
    rb"(?:charset[ \t]*=[ \t]*+(?!\"?utf-?8)|message/|multipart/|application/http)",
    re.IGNORECASE | re.MULTILINE,
)
"""Says something of the part's bytes that would no longer hold, or how they are to be read otherwise than as text."""
_JSON_HEAD: Final = re.compile(rb"^content-type[ \t]*:[^\r\n]*json", re.IGNORECASE | re.MULTILINE)
_SIGNED_MEMBER: Final = re.compile(r"(?:^|&)(?:[^=&]*(?:sign|hmac)|sig(?:[=&]|$))", re.IGNORECASE)
_SIGNED_PART: Final = re.compile(rb"name=\"[^\"]*(?:sign|hmac)", re.IGNORECASE)


def replaced_form(text: str, by_path: Stretches) -> str | None:
    """None: something is in no value, or a member signs the others."""
    if _SIGNED_MEMBER.search(text) is not None:
        return None
    left = dict(by_path)
    seen = Counter[str]()
    members: list[str] = []
    for member in text.split("&"):
        name, equals, value = member.partition("=")
        decoded = unquote_plus(name)
        stretches = left.pop((decoded, seen[decoded]), None)
        seen[decoded] += bool(member)
        written = () if stretches is None else as_written(value, stretches, _CHARACTER)
        members.append(name + equals + replaced(value, written, _written_mask))
    return None if left else "&".join(members)


def replaced_parts(body: bytes, content_type: str, by_path: Stretches) -> bytes | None:
    """None: something is in no text of a part, or in one whose head describes its bytes, or a part signs the others."""
    by_part: defaultdict[str | int, dict[Path, Sequence[Stretch]]] = defaultdict(dict)
    for path, stretches in by_path.items():
        if path[1:2] != ("content",):
            return None
        by_part[path[0]][path[2:]] = stretches
    try:
        boundary = read_content_type(content_type).boundary
        parts = split_pieces(body, boundary)
    except AmbiguousRequestError:
        return None
    if any(_SIGNED_PART.search(part.partition(b"\r\n\r\n")[0]) is not None for part in parts):
        return None
    made: list[bytes] = []
    for number, part in enumerate(parts):
        in_part = by_part.pop(number, None)
        one = part if in_part is None else _replaced_part(part, in_part)
        if one is None:
            return None
        made.append(one)
    if by_part:
        return None
    delimiter = b"--" + boundary.encode()
    end = b"\r\n" if body.endswith(b"\r\n") else b""
    return delimiter + b"\r\n" + (b"\r\n" + delimiter + b"\r\n").join(made) + b"\r\n" + delimiter + b"--" + end


def _replaced_part(part: bytes, by_path: Stretches) -> bytes | None:
    head, separator, content = part.partition(b"\r\n\r\n")
    text = as_text(content)
    if _HEAD_OF_ITS_BYTES.search(head) is not None or text is None or text.encode() != content:
        return None
    made = replaced_text(text, by_path, is_labelled=_JSON_HEAD.search(head) is not None)
    return None if made is None else head + separator + made.encode()


def _written_mask(kind: str) -> str:
    return quote_plus(mask(kind))
