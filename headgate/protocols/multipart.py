"""Multipart bodies: the parts of ``multipart/form-data`` (RFC 7578), and the digest without the boundary.

Clients make a new random boundary for each sending, so the digest covers the pieces between the boundaries
instead, each by its own digest: joining them by a fixed delimiter would let a piece that contains the
delimiter pass for two. What parsers read differently (a preamble, header folding, a name twice) is refused.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from headgate.kernel.canonical_json import JsonValue, canonical_bytes, sha256_hex
from headgate.kernel.errors import AmbiguousRequestError

# RFC 2046, section 5.1.1, token or quoted string; browsers and SDKs send nothing else.
_BOUNDARY: Final = re.compile(r";[ \t]*boundary=(?:\"([^\"\\]{1,70})\"|([!#$%&'*+.^_`|~0-9A-Za-z-]{1,70}))", re.I)
_BOUNDARY_COUNT: Final = re.compile(r";[ \t]*boundary\*?(?:\d+\*?)?[ \t]*=", re.I)
_CONTENT_DISPOSITION: Final = re.compile(
    r"form-data;[ \t]*name=\"([^\"\\]*)\"(?:;[ \t]*filename=\"([^\"]*)\")?[ \t]*", re.I
)
_PARTS_MAX: Final = 1000
_IDENTITY_TRANSFER: Final = frozenset({"7bit", "8bit", "binary"})


@dataclass(frozen=True, slots=True)
class Part:
    """One field. ``value`` is its text; None for a file, and for what is not UTF-8."""

    name: str
    filename: str | None
    content_type: str | None
    size: int
    sha256: str
    value: str | None

    def as_json(self) -> JsonValue:
        """Text fields as their text, files as what can be said of them."""
        if self.value is not None:
            return self.value
        return {
            "filename": self.filename,
            "content_type": self.content_type,
            "size": self.size,
            "sha256": self.sha256,
        }


def boundary_of(content_type: str) -> str:
    """Raises AmbiguousRequestError where there is none, or more than one."""
    match = _BOUNDARY.search(content_type)
    if match is None or len(_BOUNDARY_COUNT.findall(content_type)) != 1:
        raise _ambiguous("its Content-Type has no boundary, or more than one")
    return match[1] or match[2]


def without_boundary(content_type: str) -> str:
    """The Content-Type as the digest covers it."""
    return _BOUNDARY.sub(";boundary=*", content_type)


def split_pieces(body: bytes, boundary: str) -> tuple[bytes, ...]:
    """What stands between the delimiter lines (RFC 2046, section 5.1.1). Raises AmbiguousRequestError."""
    delimiter = b"--" + boundary.encode("latin-1")
    if not body.startswith(delimiter):
        raise _ambiguous("it does not begin with its boundary")
    pieces = (b"\r\n" + body).split(b"\r\n" + delimiter)
    last = pieces.pop()
    if last not in (b"--", b"--\r\n") or len(pieces) < 2:
        raise _ambiguous("it does not end with its boundary")
    if len(pieces) > _PARTS_MAX:
        raise _ambiguous(f"it has more than {_PARTS_MAX} parts")
    for piece in pieces[1:]:
        if not piece.startswith(b"\r\n"):
            raise _ambiguous("a line that only begins like its boundary")
    return tuple(piece[2:] for piece in pieces[1:])


def covered_digest(pieces: tuple[bytes, ...]) -> str:
    """What stands for the body's digest, whatever the boundary."""
    return sha256_hex(canonical_bytes([sha256_hex(piece) for piece in pieces]))


def read_part(piece: bytes) -> Part:
    """One field of a form. Raises AmbiguousRequestError."""
    head, separator, content = piece.partition(b"\r\n\r\n")
    if not separator:
        raise _ambiguous("a part without headers")
    headers: dict[str, str] = {}
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        try:
            key, text = name.decode("ascii").lower(), value.decode().strip(" \t")
        except UnicodeDecodeError as error:
            raise _ambiguous("a part's header is not UTF-8") from error
        if not colon or not key or key.strip() != key or key in headers or "\r" in text or "\n" in text:
            raise _ambiguous("a part's header that is malformed, folded or there twice")
        headers[key] = text
    match = _CONTENT_DISPOSITION.fullmatch(headers.get("content-disposition", ""))
    if match is None:
        raise _ambiguous("a part's Content-Disposition must be form-data with a name and at most a filename")
    if headers.get("content-transfer-encoding", "binary").lower() not in _IDENTITY_TRANSFER:
        # RFC 7578, section 4.7: deprecated; some servers decode it and others do not.
        raise _ambiguous("a part with a transfer encoding")
    filename = match[2]
    content_type = headers.get("content-type")
    return Part(
        name=match[1],
        filename=filename,
        content_type=content_type,
        size=len(content),
        sha256="sha256:" + hashlib.sha256(content).hexdigest(),
        value=_text(content) if filename is None and _is_text(content_type) else None,
    )


def _is_text(content_type: str | None) -> bool:
    return content_type is None or content_type.lower().startswith(("text/", "application/json"))


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the multipart body can be read in more than one way: {reason}", details={"field": "body"}
    )
