"""The answer of a request that is not forwarded: an error that agents, SDKs and people at a terminal can read.

The body is the nested shape of the specification ("Errors"). The reason phrase says the cause too, because
git, npm and pip show nothing else. MCP clients hide the body of an HTTP error, so a parsed JSON-RPC call is
answered with a JSON-RPC error (never a result) that carries the same data.
"""

import json
import re
from datetime import datetime
from typing import Final

from mitmproxy.http import Headers, Response

from headgate.kernel.clock import system_clock
from headgate.kernel.error_body import error_body, with_help
from headgate.kernel.errors import ErrorCode, HeadgateError

type JsonRpcId = str | int | float | None

_PROXY_AUTHENTICATE: Final = (b"proxy-authenticate", b'Basic realm="headgate", charset="UTF-8"')
# RFC 9112, 4: printable ASCII only. Anything else could end the status line (response splitting).
_NOT_IN_REASON: Final = re.compile(r"[^ -~]+")
_MAX_REASON: Final = 160
_REASONS: Final = {
    ErrorCode.VALIDATION_ERROR: "Malformed request",
    ErrorCode.REQUEST_AMBIGUOUS: "Ambiguous request",
    ErrorCode.AGENT_UNAUTHORIZED: "Agent key required",
    ErrorCode.ACTION_DENIED: "Denied by policy",
    ErrorCode.APPROVAL_PENDING: "Held for approval",
    ErrorCode.APPROVAL_DENIED: "Denied by reviewer",
    ErrorCode.DESTINATION_BLOCKED: "Destination blocked",
    ErrorCode.RESPONSE_WITHHELD: "Answer withheld",
    ErrorCode.PROTOCOL_REFUSED: "Protocol refused",
    ErrorCode.PAYLOAD_TOO_LARGE: "Payload too large",
    ErrorCode.RATE_LIMITED: "Rate limited",
    ErrorCode.SERVICE_UNAVAILABLE: "Gate unavailable",
    ErrorCode.UPSTREAM_FAILED: "Upstream failed",
    ErrorCode.CONNECTION_REFUSED: "No connection for this call",
    ErrorCode.CONNECTION_BROKEN: "Connection does not work",
    ErrorCode.INTERNAL_ERROR: "Gate failed",
    ErrorCode.NOT_FOUND: "Not found",
}
_JSON_RPC_SERVER_ERROR: Final = -32000  # JSON-RPC 2.0, 5.1: the range for the server's own errors


def reason_phrase(error: HeadgateError) -> str:
    """What the status line says. An approval, action or cause in ``details`` is named."""
    phrase = _REASONS.get(error.code, error.code.value)
    details = error.details or {}
    for name in ("approval_id", "action_id"):
        if isinstance(subject := details.get(name), str):
            phrase = f"{phrase} {subject}"
            break
    return _NOT_IN_REASON.sub(" ", phrase)[:_MAX_REASON]


def refusal_response(
    error: HeadgateError,
    *,
    request_id: str,
    now: datetime,
    head: bool = False,
    reason: str | None = None,
    help_url: str | None = None,
) -> Response:
    """An HTTP response for ``error``; without a body for HEAD (RFC 9110, 9.3.2)."""
    details = with_help(error.details, help_url)
    body = _encode(error_body(error.code, error.message, details, request_id=request_id, now=now))
    phrase = reason_phrase(error) if reason is None else _NOT_IN_REASON.sub(" ", reason)[:_MAX_REASON]
    return _response(error, error.http_status, phrase, b"" if head else body, request_id)


def refusal_for_mcp(
    rpc_id: JsonRpcId, error: HeadgateError, *, request_id: str, now: datetime, help_url: str | None = None
) -> Response:
    """A JSON-RPC error for a parsed JSON-RPC call. HTTP 200 here is the transport's, not the call's, success."""
    details = with_help(error.details, help_url)
    body = _encode(
        {
            "jsonrpc": "2.0",
            "id": rpc_id,
            "error": {
                "code": _JSON_RPC_SERVER_ERROR,
                "message": f"{reason_phrase(error)}: {error.message}",
                "data": error_body(error.code, error.message, details, request_id=request_id, now=now),
            },
        }
    )
    return _response(error, 200, "OK", body, request_id)


def _encode(body: dict[str, object]) -> bytes:
    # ASCII only: a lone surrogate in a detail would otherwise be an exception while refusing.
    return json.dumps(body, ensure_ascii=True, default=str).encode("ascii") + b"\n"


def _response(error: HeadgateError, status: int, reason: str, body: bytes, request_id: str) -> Response:
    fields = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-request-id", _NOT_IN_REASON.sub(" ", request_id).encode("ascii")),
    ]
    if error.retry_after_seconds is not None:
        fields.append((b"retry-after", str(error.retry_after_seconds).encode()))
    if error.code is ErrorCode.APPROVAL_PENDING:
        # SDKs of model providers (OpenAI, Anthropic) repeat a 403 only where this header asks them to.
        fields.append((b"x-should-retry", b"true"))
    if status == 407:
        fields.append(_PROXY_AUTHENTICATE)
    seconds = system_clock().timestamp()
    return Response(b"HTTP/1.1", status, reason.encode("ascii"), Headers(fields), body, None, seconds, seconds)
