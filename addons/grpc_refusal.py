"""Refusals in the forms of remote procedure calls over HTTP: of other answers their clients show the status at most.

gRPC ("gRPC over HTTP/2", Trailers-Only; gRPC-Web in the same fields): status and message are header fields, and the
details are a ``google.rpc.Status`` with an ``ErrorInfo`` (googleapis: ``google/rpc/status.proto`` and
``error_details.proto``). Connect ("Protocol Reference"): ``code``, ``message`` and ``details`` stand in a JSON body, of
a stream in the frame that ends it.
"""

import base64
import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from mitmproxy.http import Headers, Request, Response

from addons.refusal import reason_phrase
from headgate.kernel.errors import ErrorCode, HeadgateError
from headgate.protocols.grpc_frames import END_OF_STREAM, frame_of

_GRPC: Final = re.compile(r"application/grpc(?:-web)?(?:-text)?(?:\+[a-z0-9.-]{1,40})?", re.IGNORECASE)
_CONNECT_STREAM: Final = re.compile(r"application/connect\+[a-z0-9.-]{1,40}", re.IGNORECASE)
_MESSAGE_MAX_CHARACTERS: Final = 1_000
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f]+")
_PLAIN: Final = " !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""Percent-Encoded in the protocol's sense: what is printable and no percent sign stays."""
_DOMAIN: Final = "headgate"
_ERROR_INFO: Final = "google.rpc.ErrorInfo"

_INVALID_ARGUMENT: Final = 3
_PERMISSION_DENIED: Final = 7
_RESOURCE_EXHAUSTED: Final = 8
_UNIMPLEMENTED: Final = 12
_INTERNAL: Final = 13
_UNAVAILABLE: Final = 14
_UNAUTHENTICATED: Final = 16
_CODES: Final[Mapping[ErrorCode, int]] = {
    ErrorCode.VALIDATION_ERROR: _INVALID_ARGUMENT,
    ErrorCode.REQUEST_AMBIGUOUS: _INVALID_ARGUMENT,
    ErrorCode.PROTOCOL_REFUSED: _UNIMPLEMENTED,
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
    _UNIMPLEMENTED: "unimplemented",
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
    if _CONNECT_STREAM.fullmatch(media_type) is not None:
        return _connect_stream(media_type, error, response)
    if "connect-protocol-version" in request.headers or media_type.lower() == "application/proto":
        return _connect(error, response)
    return response


def refusal_at_end(request: Request, error: HeadgateError) -> tuple[bytes, Headers | None]:
    """The data and the trailers that end an answer which has begun, with ``error``: the last frame of a stream of
    Connect, or the status of gRPC."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip()
    message = f"{reason_phrase(error)}: {error.message}"
    if _CONNECT_STREAM.fullmatch(media_type) is not None:
        return _last_frame(error, message), None
    return b"", Headers(_status_fields(error, message))


def _grpc(media_type: str, error: HeadgateError, response: Response) -> Response:
    return _ok(media_type, b"", _status_fields(error, f"{response.reason}: {error.message}"), response)


def _ok(media_type: str, body: bytes, status: list[tuple[bytes, bytes]], response: Response) -> Response:
    """HTTP's status is 200; what identifies ``response`` stays."""
    kept = [(name, value) for name, value in response.headers.fields if name in (b"x-request-id", b"cache-control")]
    fields = [
        (b"content-type", media_type.lower().encode("ascii")),
        (b"content-length", b"%d" % len(body)),
        *status,
        *kept,
    ]
    seconds = response.timestamp_start
    return Response(b"HTTP/1.1", 200, b"OK", Headers(fields), body, None, seconds, seconds)


def _status_fields(error: HeadgateError, message: str) -> list[tuple[bytes, bytes]]:
    code = _CODES.get(error.code, _INTERNAL)
    printable = _UNPRINTABLE.sub(" ", message)[:_MESSAGE_MAX_CHARACTERS].encode("utf-8", "replace")
    return [
        (b"grpc-status", b"%d" % code),
        (b"grpc-message", quote(printable, safe=_PLAIN).encode("ascii")),
        (b"grpc-status-details-bin", base64.b64encode(_status(code, printable, error)).rstrip(b"=")),
    ]


def _connect(error: HeadgateError, response: Response) -> Response:
    """HTTP's status stays; the body says both what Connect's clients and what all others read."""
    body = json.loads(response.raw_content or b"{}")
    message = f"{response.reason}: {error.message}"
    response.raw_content = json.dumps({**_connect_error(error, message), **body}).encode("ascii") + b"\n"
    response.headers["content-length"] = str(len(response.raw_content))
    return response


def _connect_stream(media_type: str, error: HeadgateError, response: Response) -> Response:
    """HTTP says 200: clients read the reason from the frame that ends the stream, and of other statuses a code."""
    return _ok(media_type, _last_frame(error, f"{response.reason}: {error.message}"), [], response)


def _last_frame(error: HeadgateError, message: str) -> bytes:
    return frame_of(END_OF_STREAM, json.dumps({"error": _connect_error(error, message)}).encode("ascii"))


def _connect_error(error: HeadgateError, message: str) -> dict[str, object]:
    details = base64.b64encode(_error_info(error)).rstrip(b"=").decode("ascii")
    return {
        "code": _CONNECT_NAMES[_CODES.get(error.code, _INTERNAL)],
        "message": message[:_MESSAGE_MAX_CHARACTERS],
        "details": [{"type": _ERROR_INFO, "value": details}],
    }


def _status(code: int, message: bytes, error: HeadgateError) -> bytes:
    """``google.rpc.Status {code = 1, message = 2, details = 3}`` with one ``google.protobuf.Any``."""
    packed = _field(1, f"type.googleapis.com/{_ERROR_INFO}".encode()) + _field(2, _error_info(error))
    return b"\x08" + _varint(code) + _field(2, message) + _field(3, packed)


def _error_info(error: HeadgateError) -> bytes:
    """``google.rpc.ErrorInfo {reason = 1, domain = 2, metadata = 3}``."""
    texts = {name: value for name, value in (error.details or {}).items() if isinstance(value, str)}
    info = _field(1, error.code.value.encode()) + _field(2, _DOMAIN.encode())
    for name, value in texts.items():
        entry = _field(1, name.encode()) + _field(2, value[:_MESSAGE_MAX_CHARACTERS].encode("utf-8", "replace"))
        info += _field(3, entry)
    return info


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
