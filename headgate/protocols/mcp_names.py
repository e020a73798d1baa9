"""Refuses members of MCP's messages that SDKs without regard to case take for documented ones ("Schema Reference").

SDKs in Go decode with ``encoding/json``: of ``{"name": "get_me", "Name": "delete_repository"}`` they call the second
tool. Members that the protocol does not define pass: revisions and extensions add some.
"""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.member_names import all_folded, refuse_names_alike, refuse_other_spellings, spellings

_JSON_RPC: Final = "jsonrpc"
_MESSAGE: Final = spellings(_JSON_RPC, "id", "method", "params", "result", "error")
_PARAMS: Final = spellings(
    *("name", "arguments", "_meta", "task", "inputResponses", "requestState", "uri", "ref", "argument", "context"),
    *("cursor", "level", "protocolVersion", "capabilities", "clientInfo", "requestId", "reason", "progressToken"),
    *("progress", "total", "message", "taskId", "type", "value", "notifications"),
)
_META: Final = spellings("progressToken")
_RESULT: Final = spellings("action", "content", "role", "model", "stopReason", "roots", "_meta", "type", "text")
_PART: Final = spellings(
    *("type", "text", "data", "uri", "name", "mimeType", "blob", "resource", "input", "id", "toolUseId", "content"),
    *("structuredContent", "isError", "annotations", "_meta"),
)
_ERROR: Final = spellings("code", "message", "data")
_LIST: Final = spellings("tools", "nextCursor", "_meta")
_TOOL: Final = spellings(
    *("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "execution", "_meta"),
)
_WITHIN: Final = "MCP message"


def has_message_members(body: JsonValue) -> bool:
    """Whether a lenient server may read ``body`` as a message: it has a member of JSON-RPC other than ``id`` and
    ``params``, in any spelling."""
    names = all_folded(body) if isinstance(body, dict) else set()
    return not names.isdisjoint((_JSON_RPC, "method", "result", "error"))


def refuse_message_spellings(message: JsonObject) -> None:
    """Checks the members of JSON-RPC, and those of a client's response. Raises AmbiguousRequestError."""
    if _JSON_RPC not in all_folded(message):
        return
    refuse_other_spellings(message, _MESSAGE, within=_WITHIN)
    _check_result(message.get("result"))
    refuse_other_spellings(message.get("error"), _ERROR, within=_WITHIN)


def refuse_params_spellings(params: JsonObject) -> None:
    """Checks the params of a request or a notification. Each tool defines its arguments, but some tools read two
    arguments whose names differ only in case as one. Raises AmbiguousRequestError."""
    refuse_other_spellings(params, _PARAMS, within=_WITHIN)
    refuse_other_spellings(params.get("_meta"), _META, within=_WITHIN)
    for name in ("ref", "argument"):
        refuse_other_spellings(params.get(name), _PARAMS, within=_WITHIN)
    arguments, responses = params.get("arguments"), params.get("inputResponses")
    if isinstance(arguments, dict):
        refuse_names_alike(arguments, within=_WITHIN)
    for response in responses.values() if isinstance(responses, dict) else ():
        _check_result(response)


def refuse_list_spellings(message: JsonObject) -> None:
    """Checks a server's message that may answer ``tools/list``. Raises AmbiguousRequestError."""
    refuse_other_spellings(message, _MESSAGE, within=_WITHIN)
    result = message.get("result")
    refuse_other_spellings(result, _LIST, within=_WITHIN)
    tools = result.get("tools") if isinstance(result, dict) else None
    for tool in tools if isinstance(tools, list) else ():
        refuse_other_spellings(tool, _TOOL, within=_WITHIN)
        if isinstance(tool, dict):
            refuse_other_spellings(tool.get("annotations"), _TOOL, within=_WITHIN)


def _check_result(result: JsonValue) -> None:
    refuse_other_spellings(result, _RESULT, within=_WITHIN)
    if not isinstance(result, dict):
        return
    content = result.get("content")
    if isinstance(content, dict) and "role" not in result:
        refuse_names_alike(content, within=_WITHIN)  # the values of the form in an elicitation
    else:
        _check_parts([content] if isinstance(content, dict) else content)
    _check_parts(result.get("roots"))


def _check_parts(parts: JsonValue) -> None:
    """Of a sampling, or roots. The result of a tool, in a sampling, has parts of its own."""
    for part in parts if isinstance(parts, list) else ():
        refuse_other_spellings(part, _PART, within=_WITHIN)
        if not isinstance(part, dict):
            continue
        arguments, inner = part.get("input"), part.get("content")
        if isinstance(arguments, dict):
            refuse_names_alike(arguments, within=_WITHIN)
        for one in (part.get("resource"), *(inner if isinstance(inner, list) else ())):
            refuse_other_spellings(one, _PART, within=_WITHIN)
            if isinstance(one, dict):
                refuse_other_spellings(one.get("resource"), _PART, within=_WITHIN)
