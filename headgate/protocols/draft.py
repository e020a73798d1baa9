"""An action before anybody has decided it: what is asked for, and the very call that it stands for."""

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from headgate.kernel.call_name import fits
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import ValidationError
from headgate.protocols.body import Body
from headgate.protocols.headers import Headers
from headgate.protocols.http_call import HttpCall, url_bytes
from headgate.protocols.llm import ModelCall
from headgate.protocols.mcp_exchange import McpExchange
from headgate.protocols.query import Pairs, lists_by_name

_EMPTY_OBJECT = b"{}"


class Source(StrEnum):
    """By which way the action came; part of its digest: an explicit approval never serves a proxied call."""

    PROXY = "proxy"
    API = "api"


class Effect(StrEnum):
    """What a call does to the world, as far as its catalogue (or else its method) says."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


class ReadCall(Struct, frozen=True):
    """A call with its parts read: host and path normalised.

    ``shown`` is the call as policies and reviewers see it, in canonical JSON: path normalised, query as lists by
    name, credentials in headers masked. ``covered_*`` is what an approval covers (``headgate.actions.digest``).
    """

    call: HttpCall
    path: str
    query: JsonObject
    covered_headers: JsonObject
    covered_body_sha256: str
    shown: bytes


def make_read_call(call: HttpCall, path: str, query: Pairs, headers: Headers, body: Body) -> ReadCall:
    """``call`` with its host normalised, and what was read of it."""
    query_lists = lists_by_name(query) if query else {}
    shown: JsonObject = {
        "method": call.method,
        "scheme": call.scheme,
        "host": call.host,
        "port": call.port,
        "path": path,
        "query": query_lists,
        "url_bytes": url_bytes(call),
        "headers": headers.shown,
        "body_sha256": body.sha256,
        "body_size": body.size,
        "body_kind": body.kind,
    }
    if body.type_mismatch:
        shown["body_type_mismatch"] = True
    return ReadCall(call, path, query_lists, headers.covered, body.sha256, canonical_bytes(shown))


def below_400(status: int) -> bool:
    """What counts as success where no catalogue says otherwise (semantics.md, "Recording")."""
    return status < 400


type OpaquePart = tuple[tuple[str | int, ...], bytes]
"""Bytes in ``params`` of which only a digest is shown, with their place."""


class ProtocolFacts(Struct, frozen=True):
    """What a protocol that rides on HTTP says of a call: a member of the policies' input, and its value in canonical
    JSON. The bytes of the call determine it, so the digest does not name it. ``model``: the language model that is
    asked. ``opaque``, ``unread``: of a protocol whose messages are read into ``params.messages``, what is for detectors
    to open, and why the rest is not read."""

    member: str
    shown: bytes
    model: ModelCall | None = None
    opaque: tuple[OpaquePart, ...] = ()
    unread: str | None = None


class ActionDraft(Struct, frozen=True):
    """``params_bytes`` is ``params`` in canonical JSON; ``context`` and ``delegation`` are canonical too.

    ``expected_status`` tells of the upstream's status whether the call succeeded. ``mcp``: where it is a
    message of MCP. ``effect`` is None where nothing says what the action does.
    ``catalogue_sha256`` is the digest of the entry that interpreted the call, where one did. ``facts``: where the call
    is one of a recognised protocol. ``message``: the bytes of a message of a WebSocket, which is sent over the
    connection that ``read_call`` opened; the digest covers them.
    """

    tool: str
    operation: str
    params: JsonObject
    params_bytes: bytes
    source: Source
    read_call: ReadCall | None
    effect: Effect | None
    expected_status: Callable[[int], bool]
    mcp: McpExchange | None
    context: bytes
    delegation: bytes
    catalogue_sha256: str | None = None
    facts: ProtocolFacts | None = None
    message: bytes | None = None

    @property
    def model(self) -> ModelCall | None:
        """The language model that the call asks."""
        return None if self.facts is None else self.facts.model

    @property
    def call(self) -> HttpCall | None:
        """The call as it will be sent, with the one spelling of its host."""
        return None if self.read_call is None else self.read_call.call

    @property
    def content(self) -> bytes:
        """What is sent after the head: the message of a WebSocket, or the body, still in its content coding."""
        if self.message is not None:
            return self.message
        return b"" if self.read_call is None else self.read_call.call.body


def make_draft(
    *,
    tool: str,
    operation: str,
    params: JsonObject,
    source: Source,
    read_call: ReadCall | None = None,
    effect: Effect | None = None,
    expected_status: Callable[[int], bool] = below_400,
    mcp: McpExchange | None = None,
    context: bytes = _EMPTY_OBJECT,
    delegation: bytes = _EMPTY_OBJECT,
    catalogue_sha256: str | None = None,
    facts: ProtocolFacts | None = None,
    message: bytes | None = None,
) -> ActionDraft:
    """Raises ValidationError: names that do not fit the specification's pattern, params that JSON cannot hold."""
    for field, name in (("tool", tool), ("operation", operation)):
        if not fits(name):
            raise ValidationError(
                f"{field} must match ^[a-z][a-z0-9_]*$ and be 1 to 64 characters long",
                details={"field": field, "reason": "pattern"},
            )
    return ActionDraft(
        tool,
        operation,
        params,
        canonical_bytes(params),
        source,
        read_call,
        effect,
        expected_status,
        mcp,
        context,
        delegation,
        catalogue_sha256,
        facts,
        message,
    )
