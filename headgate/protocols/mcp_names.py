"""Members of MCP's messages that an SDK without regard to case takes for documented ones (MCP, "Schema Reference").

SDKs in Go decode with ``encoding/json``: of ``{"name": "get_me", "Name": "delete_repository"}`` they call the second
tool. Members that the protocol does not know stay: revisions and extensions add some.
"""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.member_names import folded, refuse_names_alike, refuse_other_spellings, spellings

_JSON_RPC: Final = "jsonrpc"
_MESSAGE: Final = spellings(_JSON_RPC, "id", "method", "params", "result", "error")
_PARAMS: Final = spellings(
    *("name", "arguments", "_meta", "task", "inputResponses", "requestState", "uri", "ref", "argument", "context"),
    *("cursor", "level", "protocolVersion", "capabilities", "clientInfo", "requestId", "reason", "progressToken"),
    *("progress", "total", "message", "taskId", "type", "value", "notifications"),
)
_META: Final = spellings("progressToken")
_RESULT: Final = spellings("action", "content", "role", "model", "stopReason", "roots", "_meta", "type", "text")
_ERROR: Final = spellings("code", "message", "data")
_LIST: Final = spellings("tools", "nextCursor", "_meta")
_TOOL: Final = spellings(
    *("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "execution", "_meta"),
)
_WITHIN: Final = "MCP message"


def has_message_members(body: JsonValue) -> bool:
    """Whether a lenient server may take it for a message: it has another member of JSON-RPC than ``id`` and ``params``,
    in whatever spelling."""
    names = {folded(name) for name in body} if isinstance(body, dict) else set()
    return not names.isdisjoint((_JSON_RPC, "method", "result", "error"))


def refuse_message_spellings(message: JsonObject) -> None:
    """Of the members of JSON-RPC, and of what the client says in a response. Raises AmbiguousRequestError."""
    if not any(folded(name) == _JSON_RPC for name in message):
        return
    refuse_other_spellings(message, _MESSAGE, within=_WITHIN)
    _check_result(message.get("result"))
    refuse_other_spellings(message.get("error"), _ERROR, within=_WITHIN)


def refuse_params_spellings(params: JsonObject) -> None:
    """Of a request's or a notification's. The arguments of a tool are its own matter, but two of them whose names
    differ only in case are one to some tools. Raises AmbiguousRequestError."""
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
    """Of a server's message that may answer ``tools/list``. Raises AmbiguousRequestError."""
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
    content = result.get("content") if isinstance(result, dict) else None
    if isinstance(content, dict):
        # Of an elicitation the form's values, of a sampling the text.
        refuse_names_alike(content, within=_WITHIN)
