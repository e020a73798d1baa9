"""``multipart/form-data`` (RFC 7578), in the one form that every server reads alike; the rest is refused.

Servers differ in what ends a part: Werkzeug also splits at a bare LF or CR, Django at the boundary wherever it
stands. So the boundary may stand nowhere but in the delimiter lines. They differ in what a part's headers say:
busboy reads names in ISO 8859-1 and cuts long ones, Werkzeug decodes ``%22``, Django takes the last component of a
file's name. So names and headers have the few characters that all read alike.
"""

import hashlib
import re
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.protocols.content_type import ContentType, read_content_type

# What clients make (browsers, curl, SDKs, Python's email package); with something beside hyphens, so that a delimiter
# cannot overlap with the hyphens that end it.
_BOUNDARY: Final = re.compile(r"(?=.*[0-9A-Za-z])[0-9A-Za-z_.=-]{1,70}")
_NAME: Final = r"[!#$()*+,./0-9:;<=>?@A-Z\[\]^_`a-z{|}~-]+(?: [!#$()*+,./0-9:;<=>?@A-Z\[\]^_`a-z{|}~-]+)*"
_FILE_NAME: Final = r"[!#$()*+,.0-9:;<=>?@A-Z\[\]^_`a-z{|}~-]+(?: [!#$()*+,.0-9:;<=>?@A-Z\[\]^_`a-z{|}~-]+)*"
_DISPOSITION: Final = re.compile(rf'form-data; ?name="({_NAME})"(?:; ?filename="({_FILE_NAME})")?', re.I)
_HEADER: Final = re.compile(r"([A-Za-z-]+): ?([!-~](?:[ -~]*[!-~])?)")
_IDENTITY_TRANSFER: Final = frozenset({"7bit", "8bit", "binary"})
PARTS_MAX: Final = 1000
NAME_BYTES_MAX: Final = 100
"""busboy cuts a longer name."""
FILE_NAME_BYTES_MAX: Final = 255
"""Django cuts a longer one."""
VALUE_BYTES_MAX: Final = 1 << 20
"""busboy cuts a longer value of a text field."""


class Part(Struct, frozen=True):
    """One field. ``value`` is its text; None for a file."""

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


def read_multipart(body: bytes, content_type: ContentType) -> list[Part]:
    """The fields of a form, in order. Raises AmbiguousRequestError, PayloadTooLargeError."""
    if not content_type.is_utf8:
        raise _ambiguous("its charset is not UTF-8")
    return [_read_part(piece) for piece in split_pieces(body, content_type.boundary)]


def split_pieces(body: bytes, boundary: str) -> tuple[bytes, ...]:
    """What stands between the delimiter lines (RFC 2046, section 5.1.1). Raises AmbiguousRequestError."""
    if _BOUNDARY.fullmatch(boundary) is None:
        raise _ambiguous("its boundary is missing, or has characters other than letters, digits and _.=-")
    delimiter = b"--" + boundary.encode("ascii")
    if not body.startswith(delimiter + b"\r\n"):
        raise _ambiguous("it does not begin with its boundary")
    end = b"\r\n" + delimiter + b"--"
    whole = body.removesuffix(b"\r\n")
    if not whole.endswith(end):
        raise _ambiguous("it does not end with its boundary")
    inner = whole[len(delimiter) : -len(end)]
    pieces = inner.split(b"\r\n" + delimiter + b"\r\n") if inner else []
    if not pieces:
        raise _ambiguous("it has no part")
    pieces[0] = pieces[0][2:]
    if body.count(delimiter) != len(pieces) + 1:
        raise _ambiguous("its boundary stands elsewhere than in a delimiter line")
    if len(pieces) > PARTS_MAX:
        raise _ambiguous(f"it has more than {PARTS_MAX} parts")
    return tuple(pieces)


def _read_part(piece: bytes) -> Part:
    head, separator, content = piece.partition(b"\r\n\r\n")
    if not separator:
        raise _ambiguous("a part without headers")
    headers = _read_head(head)
    match = _DISPOSITION.fullmatch(headers.get("content-disposition", ""))
    if match is None:
        raise _ambiguous(
            'a part\'s Content-Disposition must be form-data; name="…" and at most a filename, in printable ASCII'
            " without quotes, backslashes, ampersands, percent signs and, in a filename, slashes"
        )
    name, filename = match[1], match[2]
    if len(name) > NAME_BYTES_MAX or len(filename or "") > FILE_NAME_BYTES_MAX or filename in (".", ".."):
        raise _ambiguous("a part's name or filename that some servers cut")
    if headers.get("content-transfer-encoding", "binary").lower() not in _IDENTITY_TRANSFER:
        # RFC 7578, section 4.7: deprecated; some servers decode it and others do not.
        raise _ambiguous("a part with a transfer encoding")
    value = None if filename is not None else _read_text(content)
    content_type = headers.get("content-type")
    if content_type is not None:
        _check_type(read_content_type(content_type), is_file=filename is not None)
    return Part(
        name=name,
        filename=filename,
        content_type=content_type,
        size=len(content),
        sha256="sha256:" + hashlib.sha256(content).hexdigest(),
        value=value,
    )


def _read_head(head: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in head.decode("latin-1").split("\r\n"):
        match = _HEADER.fullmatch(line)
        if match is None or (name := match[1].lower()) in headers:
            raise _ambiguous("a part's header that is malformed, folded, not in ASCII, or there twice")
        headers[name] = match[2]
    return headers


def _check_type(content_type: ContentType, *, is_file: bool) -> None:
    media_type = content_type.media_type
    if media_type.startswith(("multipart/", "message/")):
        raise _ambiguous("a part that is a message of parts")
    if not is_file and (media_type == "application/octet-stream" or not content_type.is_utf8):
        # busboy takes the first for a file; Werkzeug decodes the value by the charset.
        raise _ambiguous("a field that is labelled as bytes, or in another charset than UTF-8")


def _read_text(content: bytes) -> str:
    if len(content) > VALUE_BYTES_MAX:
        raise PayloadTooLargeError(
            f"a field of the form is longer than {VALUE_BYTES_MAX} bytes: some servers cut it",
            details={"field": "body", "max_bytes": VALUE_BYTES_MAX},
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _ambiguous("a field that is not UTF-8") from error


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the multipart body can be read in more than one way: {reason}", details={"field": "body"}
    )
