"""One JSON-RPC 2.0 message of MCP's stdio transport: a line (MCP, "Transports", "stdio"). Pure.

Strict: a line that two readers could read differently is no message, and goes no further. That is so of a carriage
return, too: readers with universal newlines, such as Python's, end a line there, and would find another message behind
it ("Messages are delimited by newlines, and MUST NOT contain embedded newlines").
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, ErrorCode, HeadgateError, ValidationError
from headgate.protocols.mcp_exchange import McpId, is_mcp_id

LINE_BYTES_MAX: Final = 10 << 20
"""As large as a request body through the proxy."""
SERVER_ERROR: Final = -32000
"""JSON-RPC 2.0, section 5.1: the range for the server's own errors."""
INVALID_REQUEST: Final = -32600
_REQUEST_MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_RESPONSE_MEMBERS: Final = frozenset({"jsonrpc", "id", "result", "error"})


class Kind(StrEnum):
    REQUEST = "request"
    NOTIFICATION = "notification"
    RESPONSE = "response"


class NotDecidedError(HeadgateError):
    """The message could not be decided, so that it was not passed on."""

    code = ErrorCode.SERVICE_UNAVAILABLE


class WithheldError(HeadgateError):
    """The server answered, and policies about content do not let the answer through."""

    code = ErrorCode.RESPONSE_WITHHELD


class Message(Struct, frozen=True):
    """``id`` None: of a notification. ``method`` is empty, and ``params`` are ``result`` or ``error``, of a response.
    ``line`` is the message as it came, without its end."""

    kind: Kind
    id: McpId | None
    method: str
    params: JsonObject
    line: bytes


def parse_message(line: bytes) -> Message:
    """Raises AmbiguousRequestError."""
    if b"\r" in line:
        raise AmbiguousRequestError("the line has a carriage return in it, where some readers begin another message")
    try:
        body = parse_strict(line)
    except ValidationError as error:
        raise AmbiguousRequestError(f"the line is not a JSON-RPC message: {error.message}") from error
    if isinstance(body, list):
        raise AmbiguousRequestError("JSON-RPC batches are not part of MCP: send one message in each line")
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise AmbiguousRequestError("the line is not a JSON-RPC 2.0 message")
    message_id = body.get("id")
    if "method" not in body:
        return _response(body, line)
    method, params = body["method"], body.get("params", {})
    if not isinstance(method, str) or not method or not isinstance(params, dict) or not body.keys() <= _REQUEST_MEMBERS:
        raise AmbiguousRequestError("a message with a method has an id and params besides, and params are an object")
    if "id" not in body:
        return Message(Kind.NOTIFICATION, None, method, params, line)
    if not is_mcp_id(message_id):
        raise AmbiguousRequestError("the id of an MCP request is an integer, or text of at most 128 characters")
    return Message(Kind.REQUEST, message_id, method, params, line)


def _response(body: JsonObject, line: bytes) -> Message:
    message_id = body.get("id")
    if not body.keys() <= _RESPONSE_MEMBERS or ("result" in body) == ("error" in body):
        raise AmbiguousRequestError("a message without a method has either a result or an error")
    if message_id is not None and not is_mcp_id(message_id):
        raise AmbiguousRequestError("the id of a response is an integer, or text of at most 128 characters")
    told = {name: value for name, value in body.items() if name in ("result", "error")}
    return Message(Kind.RESPONSE, message_id, "", told, line)
