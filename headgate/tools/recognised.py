"""Protocols that ride on plain HTTP requests, at hosts that no catalogue covers.

``params`` stay those of the generic call, so that what a policy reads of the body is where it was; what the protocol
means by it stands beside them (``input.llm``, ``input.dns``, ``input.git``, ``input.aws``, ``input.grpc``,
``input.jsonrpc``, ``input.a2a``, ``input.soap``).
"""

from typing import Final, Protocol

from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols import a2a, aws, dns, git, grpc, json_rpc, llm, soap
from headgate.protocols.a2a import A2A_TOOL, A2aCall
from headgate.protocols.aws import AWS_TOOL
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.draft import ActionDraft, Effect, ProtocolFacts, ReadCall, Source, make_draft
from headgate.protocols.git import GIT_TOOL, GitRequest
from headgate.protocols.grpc import GRPC_TOOL, MESSAGES, GrpcRequest
from headgate.protocols.headers import Headers
from headgate.protocols.json_rpc import JSON_RPC_TOOL
from headgate.protocols.llm_endpoints import BEDROCK, LlmEndpoint
from headgate.protocols.soap import SOAP_TOOL
from headgate.protocols.websocket import WEBSOCKET_TOOL, handshake_draft, is_handshake
from headgate.tools.generic import call_params

LLM_TOOL: Final = "llm"
DNS_TOOL: Final = "dns"
DNS_QUERY: Final = "query"
RECOGNISED_TOOLS: Final = frozenset(
    {A2A_TOOL, AWS_TOOL, DNS_TOOL, GIT_TOOL, GRPC_TOOL, JSON_RPC_TOOL, LLM_TOOL, SOAP_TOOL, WEBSOCKET_TOOL}
)
"""Names that no catalogue may take."""


def recognised_draft(
    read_call: ReadCall, headers: Headers, body: Body, endpoint: LlmEndpoint | None
) -> ActionDraft | None:
    """``endpoint``: the language model that a POST is addressed to. None: the call is of none of these protocols.

    Raises AmbiguousRequestError: the call is of two of them at once.
    """
    query = dns.recognise(read_call, headers)
    request = git.recognise(read_call, headers, body)
    signed = aws.recognise(read_call, headers, body)
    is_json = body.kind is BodyKind.JSON
    remote = None if is_json and not body.type_mismatch else grpc.recognise(read_call, headers, body)
    procedure = json_rpc.recognise(body.value) if remote is not None and is_json else None
    found = {
        "as a DNS query": query,
        "as one of Git's": request,
        "as one of AWS": signed,
        "as one of gRPC": remote,
        "as one of JSON-RPC": procedure,
    }
    meanings = [meaning for meaning, one in found.items() if one is not None]
    if len(meanings) > 1:
        raise AmbiguousRequestError(
            f"the request can be read in more than one way: {' and '.join(meanings)}",
            details={"field": "content-type"},
        )
    if signed is not None:
        # boto3 labels no body of InvokeModel.
        is_completion = signed.facts["service"] == BEDROCK and body.kind is BodyKind.JSON and not body.type_mismatch
        completion = _llm_draft(endpoint, read_call, headers, body) if is_completion else None
        return completion or described_draft(AWS_TOOL, read_call, body, signed, member=AWS_TOOL)
    if query is not None:
        return _dns_draft(read_call, headers, body, query)
    if request is not None:
        return _git_draft(read_call, body, request)
    if remote is not None:
        return grpc_draft(GRPC_TOOL, read_call, body, remote)
    card = a2a.recognise_card(read_call.call.method, read_call.path)
    if card is not None:
        return a2a_draft(A2A_TOOL, read_call, body, card, effect=Effect.READ)
    if read_call.call.method == "POST" and body.kind is BodyKind.JSON:
        is_labelled = headers.content_type is not None and not body.type_mismatch
        completion = _llm_draft(endpoint, read_call, headers, body) if is_labelled else None
        return completion or _rpc_draft(read_call, headers, body) or _connect_draft(read_call, headers, body)
    called = soap.recognise(read_call.call.method, headers, body)
    return None if called is None else _draft(SOAP_TOOL, called.operation, read_call, body, Effect.WRITE, called.facts)


def websocket_draft(read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    """Also at hosts that a catalogue covers: what an entry says of a GET is not what a socket does."""
    if body.kind is not BodyKind.NONE or not is_handshake(read_call.call.method, headers.shown):
        return None
    return handshake_draft(read_call, call_params(read_call, body))


def git_draft(read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    """For hosts that a catalogue covers: GitLab serves Git and its API at one host. None: no call of Git."""
    request = git.recognise(read_call, headers, body)
    return None if request is None else _git_draft(read_call, body, request)


def _git_draft(read_call: ReadCall, body: Body, request: GitRequest) -> ActionDraft:
    return described_draft(GIT_TOOL, read_call, body, request, member=GIT_TOOL)


def _dns_draft(read_call: ReadCall, headers: Headers, body: Body, query: JsonObject) -> ActionDraft:
    """A write, by GET too: the query takes its name to the servers of that name's zone."""
    if is_handshake(read_call.call.method, headers.shown):
        # A resolver that knows no WebSockets ignores the upgrade (RFC 9110, section 7.8) and answers the query.
        raise AmbiguousRequestError(
            "the request can be read in more than one way: as a DNS query and as the handshake of a WebSocket",
            details={"field": "upgrade"},
        )
    return make_draft(
        tool=DNS_TOOL,
        operation=DNS_QUERY,
        params=call_params(read_call, body),
        source=Source.PROXY,
        read_call=read_call,
        effect=Effect.WRITE,
        facts=ProtocolFacts(DNS_TOOL, canonical_bytes(query)),
    )


class _Described(Protocol):
    """A request of a protocol that says all of it in a few facts."""

    @property
    def operation(self) -> str: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def facts(self) -> JsonObject: ...


def described_draft(tool: str, read_call: ReadCall, body: Body, request: _Described, *, member: str) -> ActionDraft:
    """The facts stand among the params, too: people decide by them, and grants cover them. ``member``: of the policies'
    input."""
    return make_draft(
        tool=tool,
        operation=request.operation,
        params={**call_params(read_call, body), **request.facts},
        source=Source.PROXY,
        read_call=read_call,
        effect=request.effect,
        facts=ProtocolFacts(member, canonical_bytes(request.facts)),
    )


def _connect_draft(read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    """After all others: the header that tells a unary call of Connect in JSON is one that other servers ignore."""
    request = grpc.recognise(read_call, headers, body)
    return None if request is None else grpc_draft(GRPC_TOOL, read_call, body, request)


def _rpc_draft(read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    """Nobody has said what is there, so even a question may be anything: a write."""
    request = json_rpc.recognise(body.value)
    if request is None:
        return None
    call = a2a.recognise(headers, request)
    if call is not None:
        return a2a_draft(A2A_TOOL, read_call, body, call, effect=Effect.WRITE)
    return rpc_draft(JSON_RPC_TOOL, read_call, body, request)


def rpc_draft(tool: str, read_call: ReadCall, body: Body, request: json_rpc.RpcRequest) -> ActionDraft:
    return _draft(tool, request.operation, read_call, body, Effect.WRITE, request.facts, member=JSON_RPC_TOOL)


def a2a_draft(tool: str, read_call: ReadCall, body: Body, call: A2aCall, *, effect: Effect) -> ActionDraft:
    return _draft(tool, call.operation, read_call, body, effect, call.facts, member=A2A_TOOL)


def _draft(
    tool: str,
    operation: str,
    read_call: ReadCall,
    body: Body,
    effect: Effect,
    facts: JsonObject,
    *,
    member: str | None = None,
) -> ActionDraft:
    """Its body among the params says the rest. ``member``: of the policies' input; None: as the tool."""
    return make_draft(
        tool=tool,
        operation=operation,
        params=call_params(read_call, body),
        source=Source.PROXY,
        read_call=read_call,
        effect=effect,
        facts=ProtocolFacts(member or tool, canonical_bytes(facts)),
    )


def grpc_draft(tool: str, read_call: ReadCall, body: Body, request: GrpcRequest) -> ActionDraft:
    """The messages stand among the params only: they may be long."""
    params = call_params(read_call, body)
    if request.messages is not None:
        params[MESSAGES] = request.messages
    shown = params.get("body")
    if request.unread is not None and body.kind is BodyKind.OPAQUE and isinstance(shown, dict):
        params["body"] = {**shown, "unread": request.unread}
    facts = ProtocolFacts(GRPC_TOOL, canonical_bytes(request.facts), opaque=request.opaque, unread=request.unread)
    return make_draft(
        tool=tool,
        operation=request.operation,
        params=params,
        source=Source.PROXY,
        read_call=read_call,
        effect=Effect.WRITE,
        facts=facts,
    )


def _llm_draft(endpoint: LlmEndpoint | None, read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    request = llm.recognise(endpoint, headers.shown, body.value)
    if request is None:
        return None
    return make_draft(
        tool=LLM_TOOL,
        operation=request.operation,
        params=call_params(read_call, body),
        source=Source.PROXY,
        read_call=read_call,
        effect=Effect.WRITE,
        facts=ProtocolFacts(LLM_TOOL, canonical_bytes(request.facts), request.call),
    )
