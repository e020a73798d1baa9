"""One HTTP request as it was intercepted, and the one spelling of its host and path.

Paths are normalised as RFC 3986, section 6.2.2 says (percent-encoding), and duplicate and trailing slashes
are folded; what servers read differently is refused instead (semantics.md, "The action and what an approval
covers").
"""

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from headgate.kernel.errors import AmbiguousRequestError

_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Segments that need no work: no percent sign, none empty, none that starts with a dot.
_NORMAL_PATH: Final = re.compile(r"(?:/[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9._~!$&'()*+,;=:@-]*)+")
_PATH: Final = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@/%-]*")
_ENCODED_SLASH: Final = "%2F"
_PERCENT: Final = re.compile(r"%([0-9A-Fa-f]{2})?")
_LABELS: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMERIC_LABEL: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_METHOD: Final = re.compile(r"[A-Z][A-Z0-9_-]{0,31}")


class HttpCall(Struct, frozen=True):
    """A request as it was sent: ``path`` and ``query`` raw, header names and values as bytes, in order.

    ``body`` holds the bytes on the wire, still in their content coding. ``query`` is without the ``?``.
    """

    method: str
    scheme: str
    host: str
    port: int
    path: str
    query: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


def with_body_of(call: HttpCall, body: bytes) -> HttpCall:
    """``call`` with another body, and its length."""
    length = str(len(body)).encode()
    fields = tuple((name, length if name.lower() == b"content-length" else value) for name, value in call.headers)
    return replace(call, headers=fields, body=body)


def url_bytes(call: HttpCall) -> int:
    """The length of the URL as it was sent: what it can carry out of the house. Normalising folds slashes and decodes,
    so that the path which policies see may be shorter."""
    default = 443 if call.scheme == "https" else 80
    authority = len(call.host) + (0 if call.port == default else len(str(call.port)) + 1)
    return len(call.scheme) + 3 + authority + len(call.path) + (len(call.query) + 1 if call.query else 0)


def check_method(method: str) -> None:
    """Methods are case-sensitive (RFC 9110, section 9.1), but some servers take ``delete`` for DELETE.

    Raises AmbiguousRequestError.
    """
    if _METHOD.fullmatch(method) is None:
        raise AmbiguousRequestError("the method must be in upper-case letters", details={"field": "method"})


@lru_cache(maxsize=4096)
def normalise_host(host: str) -> str:
    """Lower case, without a trailing dot; addresses in their standard form; A-labels stay as they are.

    Raises AmbiguousRequestError: for what only some resolvers take for an address (``127.1``), for U-labels.
    """
    lowered = host.lower()
    bare = lowered[1:-1] if lowered.startswith("[") and lowered.endswith("]") else lowered
    if ":" in bare:
        try:
            return str(ipaddress.IPv6Address(bare))
        except ValueError as error:
            raise _ambiguous("host", "not an IPv6 address") from error
    bare = bare.removesuffix(".")
    if len(bare) > 253 or _LABELS.fullmatch(bare) is None:
        raise _ambiguous("host", "not a host name in ASCII (RFC 1123; names in other scripts as A-labels)")
    if _NUMERIC_LABEL.fullmatch(bare.rpartition(".")[2]) is not None:
        # WHATWG URL, "ends in a number": resolvers read such a name as an address.
        try:
            return str(ipaddress.IPv4Address(bare))
        except ValueError as error:
            raise _ambiguous("host", "a number that only some resolvers take for an address") from error
    return bare


def normalise_path(path: str, *, encoded_slashes: bool = False) -> str:
    """The one spelling of ``path``: idempotent, and different resources stay different.

    ``encoded_slashes``: the server reads ``%2F`` as a character of its segment, so it stays; otherwise it is refused.
    Raises AmbiguousRequestError: encoded slashes and control characters, dot segments, backslashes, percent signs that
    encode nothing, bytes that are not UTF-8.
    """
    if _NORMAL_PATH.fullmatch(path) is not None:
        return path
    if _PATH.fullmatch(path) is None:
        raise _ambiguous("path", "must start with / and hold only the characters of RFC 3986, section 3.3")
    if "%" in path:
        path = _PERCENT.sub(_normal_percent, path)
        if not encoded_slashes and _ENCODED_SLASH in path:
            raise _ambiguous(
                "path",
                "an encoded slash: servers disagree about it. A catalogue of the host with encoded_slashes allows it",
            )
        try:
            unquote_to_bytes(path).decode()
        except UnicodeDecodeError as error:
            raise _ambiguous("path", "percent-encoded bytes that are not UTF-8") from error
        if any("" in segment.split(_ENCODED_SLASH) for segment in path.split("/") if segment):
            # GitLab cleans file paths: src%2F%2Fa.py is src/a.py there.
            raise _ambiguous("path", "nothing before, between or after encoded slashes")
    segments = [segment for segment in path.split("/") if segment]
    for segment in path.replace(_ENCODED_SLASH, "/").split("/"):
        # Some servers cut a segment at ';' before they resolve dots: /public/..;/admin.
        if segment.startswith(".") and segment.partition(";")[0] in (".", ".."):
            raise _ambiguous("path", "dot segments: send the path that is meant")
    return "/" + "/".join(segments)


def _normal_percent(match: re.Match[str]) -> str:
    if match[1] is None:
        raise _ambiguous("path", "a percent sign that encodes nothing")
    value = int(match[1], 16)
    character = chr(value)
    if character in _UNRESERVED:
        return character
    if character == "\\" or value < 0x20 or value == 0x7F:
        raise _ambiguous("path", "an encoded backslash or control character: servers disagree about it")
    return f"%{value:02X}"


def _ambiguous(field: str, reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(f"the {field} can be read in more than one way: {reason}", details={"field": field})
