"""What the gate needs of a message of MCP beside its decision: ids, session, and how its answer is read."""

from typing import Final, TypeGuard

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue

type McpId = str | int

ID_LENGTH_MAX: Final = 128  # approvals do not cover ids, so that they must not have room for a message
CALL: Final = "tools/call"
LIST: Final = "tools/list"
CANCELLED: Final = "notifications/cancelled"
SESSION: Final = "mcp-session-id"


class McpExchange(Struct, frozen=True):
    """``request_id``: the id that the answer carries. ``session_id``: the session that ids belong to. ``cancels``: the
    request that this message cancels. ``progress_token``: the token of progress notifications. ``has_outcome``: the
    body of the answer says whether it succeeded. ``lists_tools``: the answer offers tools
    (``headgate.protocols.mcp_tool_list``). ``called_tool``: the tool's own name, of a call. ``accepts_stream``: the
    sender accepts an event stream as the answer."""

    request_id: McpId | None = None
    session_id: str | None = None
    cancels: McpId | None = None
    progress_token: McpId | None = None
    has_outcome: bool = False
    lists_tools: bool = False
    called_tool: str | None = None
    accepts_stream: bool = True


def exchange_of(headers: JsonObject, method: str, params: JsonObject, request_id: McpId | None) -> McpExchange:
    meta, cancels, name = params.get("_meta"), params.get("requestId"), params.get("name")
    session_id = headers.get(SESSION)
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return McpExchange(
        request_id,
        session_id if isinstance(session_id, str) else None,
        cancels if method == CANCELLED and is_mcp_id(cancels) else None,
        token if is_mcp_id(token) else None,
        has_outcome=request_id is not None and method == CALL,
        lists_tools=request_id is not None and method == LIST,
        called_tool=name if method == CALL and isinstance(name, str) else None,
        accepts_stream=_accepts(headers, "text/event-stream"),
    )


def has_client_headers(headers: JsonObject) -> bool:
    """A client MUST accept both, and sends its message as JSON ("Sending Messages to the Server")."""
    content_type = headers.get("content-type")
    return (
        _accepts(headers, "application/json")
        and _accepts(headers, "text/event-stream")
        and isinstance(content_type, str)
        and content_type.partition(";")[0].strip().lower() == "application/json"
    )


def _accepts(headers: JsonObject, media_type: str) -> bool:
    """Whether ``Accept`` names it."""
    accept = headers.get("accept")
    return isinstance(accept, str) and media_type in accept.lower()


def is_mcp_id(value: JsonValue) -> TypeGuard[McpId]:
    """An id or progress token as the protocol defines it, of a size that only tells messages apart."""
    return isinstance(value, str | int) and not isinstance(value, bool) and len(str(value)) <= ID_LENGTH_MAX
