"""Refusals in the forms of remote procedure calls over HTTP: of other answers their clients show the status at most.

gRPC ("gRPC over HTTP/2", Trailers-Only; gRPC-Web in the same fields): status and message are header fields, and the
details are a ``google.rpc.Status`` with an ``ErrorInfo`` (googleapis: ``google/rpc/status.proto`` and
``error_details.proto``). Connect ("Protocol Reference"): ``code`` and ``message`` stand in a JSON body.
"""

import base64
import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from mitmproxy.http import Headers, Request, Response

from headgate.kernel.errors import ErrorCode, HeadgateError

_GRPC: Final = re.compile(r"application/grpc(?:-web)?(?:-text)?(?:\+[a-z0-9.-]{1,40})?", re.IGNORECASE)
_MESSAGE_MAX_CHARACTERS: Final = 1_000
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f]+")
_PLAIN: Final = " !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""Percent-Encoded in the protocol's sense: what is printable and no percent sign stays."""
_DOMAIN: Final = "headgate"

_INVALID_ARGUMENT, _PERMISSION_DENIED, _RESOURCE_EXHAUSTED, _INTERNAL, _UNAVAILABLE, _UNAUTHENTICATED = (
    3,
    7,
    8,
    13,
    14,
    16,
)
_CODES: Final[Mapping[ErrorCode, int]] = {
    ErrorCode.VALIDATION_ERROR: _INVALID_ARGUMENT,
    ErrorCode.REQUEST_AMBIGUOUS: _INVALID_ARGUMENT,
    ErrorCode.PROTOCOL_REFUSED: _INVALID_ARGUMENT,
    ErrorCode.AGENT_UNAUTHORIZED: _UNAUTHENTICATED,
    ErrorCode.ACTION_DENIED: _PERMISSION_DENIED,
    ErrorCode.APPROVAL_DENIED: _PERMISSION_DENIED,
    ErrorCode.DESTINATION_BLOCKED: _PERMISSION_DENIED,
    ErrorCode.RESPONSE_WITHHELD: _PERMISSION_DENIED,
    ErrorCode.CONNECTION_REFUSED: _PERMISSION_DENIED,
    ErrorCode.PAYLOAD_TOO_LARGE: _RESOURCE_EXHAUSTED,
    ErrorCode.RATE_LIMITED: _RESOURCE_EXHAUSTED,
    # A client that tries again attaches to the approval: UNAVAILABLE is what clients are configured to retry.
    ErrorCode.APPROVAL_PENDING: _UNAVAILABLE,
    ErrorCode.SERVICE_UNAVAILABLE: _UNAVAILABLE,
    ErrorCode.UPSTREAM_FAILED: _UNAVAILABLE,
    ErrorCode.CONNECTION_BROKEN: _UNAVAILABLE,
}
_CONNECT_NAMES: Final = {
    _INVALID_ARGUMENT: "invalid_argument",
    _PERMISSION_DENIED: "permission_denied",
    _RESOURCE_EXHAUSTED: "resource_exhausted",
    _INTERNAL: "internal",
    _UNAVAILABLE: "unavailable",
    _UNAUTHENTICATED: "unauthenticated",
}


def in_callers_form(request: Request, error: HeadgateError, response: Response) -> Response:
    """``response``, which is HTTP's own form of ``error``, in the form of the protocol that the request speaks."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip()
    if request.data.method != b"POST":
        return response
    if _GRPC.fullmatch(media_type) is not None:
        return _grpc(media_type, error, response)
    if "connect-protocol-version" in request.headers:
        return _connect(error, response)
    return response


def _grpc(media_type: str, error: HeadgateError, response: Response) -> Response:
    code = _CODES.get(error.code, _INTERNAL)
    message = _UNPRINTABLE.sub(" ", f"{response.reason}: {error.message}")[:_MESSAGE_MAX_CHARACTERS]
    told = message.encode("utf-8", "replace")
    details = base64.b64encode(_status(code, told, error)).rstrip(b"=")
    kept = [(name, value) for name, value in response.headers.fields if name in (b"x-request-id", b"cache-control")]
    fields = [
        (b"content-type", media_type.lower().encode("ascii")),
        (b"content-length", b"0"),
        (b"grpc-status", b"%d" % code),
        (b"grpc-message", quote(told, safe=_PLAIN).encode("ascii")),
        (b"grpc-status-details-bin", details),
        *kept,
    ]
    seconds = response.timestamp_start
    return Response(b"HTTP/1.1", 200, b"OK", Headers(fields), b"", None, seconds, seconds)


def _connect(error: HeadgateError, response: Response) -> Response:
    """HTTP's status stays; the body says both what Connect's clients and what all others read."""
    body = json.loads(response.raw_content or b"{}")
    code = _CONNECT_NAMES[_CODES.get(error.code, _INTERNAL)]
    response.raw_content = json.dumps({"code": code, "message": error.message, **body}).encode("ascii") + b"\n"
    response.headers["content-length"] = str(len(response.raw_content))
    return response


def _status(code: int, message: bytes, error: HeadgateError) -> bytes:
    """``google.rpc.Status {code = 1, message = 2, details = 3}`` with one ``google.protobuf.Any``."""
    texts = {name: value for name, value in (error.details or {}).items() if isinstance(value, str)}
    info = _field(1, error.code.value.encode()) + _field(2, _DOMAIN.encode())
    for name, value in texts.items():
        entry = _field(1, name.encode()) + _field(2, value[:_MESSAGE_MAX_CHARACTERS].encode("utf-8", "replace"))
        info += _field(3, entry)
    packed = _field(1, b"type.googleapis.com/google.rpc.ErrorInfo") + _field(2, info)
    return b"\x08" + _varint(code) + _field(2, message) + _field(3, packed)


def _field(number: int, value: bytes) -> bytes:
    """Length-delimited (Protocol Buffers, "Encoding")."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
