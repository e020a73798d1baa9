"""The action that a message stands for: the same tool, operation and params as through the proxy. Pure."""

from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError
from headgate.mcp_stdio.message import Kind, Message
from headgate.protocols import mcp
from headgate.protocols.mcp_exchange import CALL
from headgate.protocols.mcp_names import refuse_message_spellings
from headgate.protocols.names import altered_name

_HEADERS: Final[JsonObject] = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_OF_SERVERS: Final = MappingProxyType(
    {
        "sampling/createMessage": "mcp_sampling_create_message",
        "elicitation/create": "mcp_elicitation_create",
        "roots/list": "mcp_roots_list",
    }
)
"""Requests that a server sends to its client (MCP, "Client Features")."""


class Proposal(Struct, frozen=True):
    """The body of POST /v1/actions, without its idempotency key. ``digest`` tells whether two messages are the same
    call, whatever their ids."""

    tool: str
    operation: str
    params: JsonObject
    context: JsonObject

    @property
    def digest(self) -> bytes:
        return canonical_bytes([self.operation, self.params, self.context])


def proposal(server: str, message: Message, *, from_server: bool) -> Proposal:
    """Raises AmbiguousRequestError: a call that names no tool, and members in another spelling (``mcp_names``)."""
    if message.kind is Kind.RESPONSE:
        refuse_message_spellings({"jsonrpc": "2.0", **message.params})
        return Proposal(server, "mcp_response", message.params, _context({"method": "response"}, from_server))
    body: JsonObject = {"jsonrpc": "2.0", "method": message.method, "params": message.params}
    if message.id is not None:
        body["id"] = message.id
    known = mcp.recognise(_HEADERS, body)
    if known is not None:
        return Proposal(server, known.operation, known.params, _context(known.facts, from_server))
    if message.method == CALL:
        raise AmbiguousRequestError("tools/call that is no call")
    operation = _OF_SERVERS.get(message.method) or altered_name(f"mcp_{message.method}")
    return Proposal(server, operation, message.params, _context({"method": message.method}, from_server))


def _context(facts: JsonObject, from_server: bool) -> JsonObject:
    """``mcp``: what policies read as ``input.mcp``."""
    told = {name: value for name, value in facts.items() if name != "tool_changed"}
    return {"mcp": told, "transport": "stdio", "direction": "to_client" if from_server else "to_server"}
