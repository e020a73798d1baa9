"""MCP over streamable HTTP (Model Context Protocol, revisions to 2026-07-28, "Transports"): what a message asks for.

Recognition is strict, so that a REST call cannot be dressed up as an MCP call to escape its policy: only the
members of JSON-RPC 2.0, only methods of the protocol, and the headers that a client must send. Where a
catalogue covers the host, the catalogue decides whether the host has MCP at all. If it names an MCP server, a message
without these headers could evade its policy, because servers accept it: there, headers do not matter.
"""

from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, sha256_hex
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.mcp_exchange import (
    CALL,
    CANCELLED,
    ID_LENGTH_MAX,
    LIST,
    SESSION,
    McpExchange,
    exchange_of,
    has_client_headers,
    is_mcp_id,
)
from headgate.protocols.mcp_names import has_message_members, refuse_message_spellings, refuse_params_spellings
from headgate.protocols.member_names import first_alike
from headgate.protocols.names import altered_name, fit_name

_MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_RESPONSE_MEMBERS: Final = frozenset({"jsonrpc", "id", "result", "error"})
_EXACT_BELOW: Final = 2.0**53
_RESERVED: Final = "mcp_"
_READS: Final = frozenset(
    (
        *("initialize", "server/discover", "ping", "logging/setLevel", "completion/complete"),
        *(LIST, "prompts/list", "prompts/get", "subscriptions/listen"),
        *("resources/list", "resources/templates/list", "resources/read", "resources/directory/read"),
        *("tasks/get", "tasks/list", "tasks/result", "notifications/initialized", "notifications/progress", CANCELLED),
        *("notifications/tasks/status", "notifications/roots/list_changed"),
    )
)
_METHODS: Final = (*_READS, "resources/subscribe", "resources/unsubscribe", "tasks/cancel", "tasks/update")
_OPERATIONS: Final = MappingProxyType(
    {method: _RESERVED + method.replace("setLevel", "set_level").replace("/", "_") for method in _METHODS}
)
LIST_OPERATION: Final = _OPERATIONS[LIST]


class McpMessage(Struct, frozen=True):
    """``covered_sha256``: of a request without its id and progress token, which differ in every sending; None where
    only the body's very bytes will do. ``answers_session``: of a response, the header with the session of the question.
    ``facts``: what policies read as ``input.mcp``: the method, and of a tool's call the tool's own name and the params
    beside name and arguments (``_meta``, ``inputResponses``, ``requestState``)."""

    operation: str
    params: JsonObject
    is_read: bool
    covered_sha256: str | None
    exchange: McpExchange
    facts: JsonObject
    answers_session: JsonValue = None

    def covered_body(self, body_sha256: str) -> str:
        """The digest that an approval covers in place of the body's. It includes the session only for a response: a
        call is the same in another session, but ids of questions begin anew there."""
        return _covered_in_session(self.covered_sha256 or body_sha256, self.answers_session)


def recognise(headers: JsonObject, body: JsonValue) -> McpMessage | None:
    """The message in the parsed body of a POST; None where it is not one of MCP.

    Raises AmbiguousRequestError: JSON-RPC batches (removed from the protocol in revision 2025-06-18), headers
    that name another method or tool than the body, calls that name no tool, and members in another spelling
    (``mcp_names``).
    """
    return _message(headers, body, is_named=False) if has_client_headers(headers) else None


def recognise_at_server(headers: JsonObject, body: JsonValue) -> McpMessage | None:
    """The message in the body of a POST to an MCP server that a catalogue names, whatever its headers. None: the body
    has no member of JSON-RPC.

    Raises AmbiguousRequestError: as ``recognise`` does, and for a body with such a member that is no message of MCP.
    """
    message = _message(headers, body, is_named=True)
    if message is None and any(has_message_members(one) for one in (body if isinstance(body, list) else [body])):
        raise AmbiguousRequestError(
            "the body is not a message of MCP, but the server may read it as one. Send only jsonrpc, id, method and"
            " params, or only jsonrpc, id and either result or error",
            details={"field": "body"},
        )
    return message


def _message(headers: JsonObject, body: JsonValue, *, is_named: bool) -> McpMessage | None:
    if isinstance(body, list):
        if any(isinstance(one, dict) and one.get("jsonrpc") == "2.0" for one in body):
            raise AmbiguousRequestError("JSON-RPC batches are not part of MCP: send one message in each request")
        return None
    if not isinstance(body, dict):
        return None
    refuse_message_spellings(body)
    if body.get("jsonrpc") != "2.0":
        return None
    if "method" not in body:
        return _response(headers, body)
    method, params = body["method"], body.get("params", {})
    if is_named and params is None:
        params = {}  # as servers take it
    if not isinstance(method, str) or not isinstance(params, dict) or not _MEMBERS.issuperset(body):
        return None
    operation = _OPERATIONS.get(method)
    if operation is None and is_named:
        operation = altered_name(_RESERVED + method)  # of an extension, or of a later revision
    if operation is None and method != CALL:
        return None
    request_id = body.get("id")
    if request_id is not None and not is_mcp_id(request_id):
        raise AmbiguousRequestError(
            f"the id of an MCP request is an integer, or text of at most {ID_LENGTH_MAX} characters",
            details={"field": "id"},
        )
    refuse_params_spellings(params)
    covered_params = _without_progress_token(params)
    exchange = exchange_of(headers, method, params, request_id)
    covered = _covered({"jsonrpc": "2.0", "method": method, "params": covered_params})
    if method != CALL and operation is not None:
        _agree(headers, method, None)
        return McpMessage(operation, covered_params, method in _READS, covered, exchange, {"method": method})
    name, arguments = params.get("name"), params.get("arguments")
    arguments = {} if arguments is None else arguments  # SDKs send null where a tool takes none
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise AmbiguousRequestError("tools/call without a name, or with arguments that are not an object")
    _agree(headers, method, name)
    others = {member: value for member, value in covered_params.items() if member not in ("name", "arguments")}
    return McpMessage(tool_operation(name), arguments, False, covered, exchange, call_facts(name, others))


def covered_response(headers: JsonObject, body: JsonValue, body_sha256: str) -> str:
    """``McpMessage.covered_body`` of a POST's body that is no message for ``recognise``; ``body``: as it was read. A
    lenient server may read a response in it, in the session that the header names: from a list, from a text that other
    data follows, beside a ``method`` that names none. Only a request is surely none."""
    is_request = isinstance(body, dict) and isinstance(body.get("method"), str) and body["method"] != ""
    return body_sha256 if is_request else _covered_in_session(body_sha256, headers.get(SESSION))


def _covered_in_session(covered: str, session: JsonValue) -> str:
    return covered if session is None else sha256_hex(canonical_bytes([covered, session]))


def call_facts(name: str, others: JsonObject, *, is_changed: bool = False) -> JsonObject:
    """``input.mcp`` of a call of the tool ``name``; ``others``: its params beside name and arguments; ``is_changed``:
    its definition is not the one that was accepted."""
    return {"method": CALL, "name": name, "params": others, "tool_changed": is_changed}


def told_message(context: JsonObject) -> tuple[McpExchange, JsonObject] | None:
    """What an agent tells, as ``context.mcp``, of a message that it passes on itself (``headgate mcp``): the exchange
    and ``input.mcp``. Like all that an agent submits, this is its own word. None: it tells nothing of this form."""
    told = context.get("mcp")
    if not isinstance(told, dict) or not {"method", "name", "params"} >= told.keys():
        return None
    method, name, others = told.get("method"), told.get("name"), told.get("params", {})
    if not isinstance(method, str) or not isinstance(others, dict) or not isinstance(name, str | None):
        return None
    if name is None:
        return McpExchange(), {"method": method}
    return McpExchange(called_tool=name), {**call_facts(name, others), "method": method}


def tool_operation(name: str) -> str:
    """The operation of a call of the tool ``name``; one called ``mcp_tools_list`` must not pass for the method."""
    return altered_name(name) if name.startswith(_RESERVED) else fit_name(name)


def _response(headers: JsonObject, body: JsonObject) -> McpMessage | None:
    """The client's answer to a request of the server (sampling, elicitation): data that leaves.

    Its id and session are covered: they say which question is answered, and a yes to one is no yes to another.
    """
    response_id = body.get("id")
    # An error says that the client could read no id (JSON-RPC 2.0, section 5; MCP 2025-11-25 leaves the id out).
    has_id = is_mcp_id(response_id) or (response_id is None and isinstance(body.get("error"), dict))
    if not has_id or not _RESPONSE_MEMBERS.issuperset(body) or ("result" in body) == ("error" in body):
        return None
    params = {name: value for name, value in body.items() if name in ("result", "error")}
    return McpMessage(
        "mcp_response",
        params,
        False,
        _covered(body),
        McpExchange(),
        {"method": "response"},
        answers_session=headers.get(SESSION),
    )


def _covered(message: JsonObject) -> str | None:
    """The digest of the message as canonical JSON. None: servers may read more from the bytes than this form keeps.

    - A number that is not an integer and lies beyond what a double tells apart (2^53): 9007199254740993.0 is read as
      9007199254740992, which is another number to a server that reads it exactly.
    - Members that differ only in upper and lower case: their order decides which one counts to a server in Go, and
      canonical JSON has another order.
    """
    waiting: list[JsonValue] = [message]
    while waiting:
        value = waiting.pop()
        if isinstance(value, float) and abs(value) >= _EXACT_BELOW:
            return None
        if isinstance(value, dict):
            if len(value) > 1 and first_alike(value) is not None:
                return None
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return sha256_hex(canonical_bytes(message))


def _without_progress_token(params: JsonObject) -> JsonObject:
    meta = params.get("_meta")
    if not isinstance(meta, dict) or not is_mcp_id(meta.get("progressToken")):
        return params
    return {**params, "_meta": {name: value for name, value in meta.items() if name != "progressToken"}}


def _agree(headers: JsonObject, method: str, name: str | None) -> None:
    """Later revisions repeat method and name in headers, for intermediaries: they must say the same."""
    for header, expected in (("mcp-method", method), ("mcp-name", name)):
        got = headers.get(header)
        if got is not None and expected is not None and got != expected:
            raise AmbiguousRequestError(f"the header {header} and the body differ", details={"field": header})
