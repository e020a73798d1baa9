"""Protocols that ride on plain HTTP requests, at hosts that no catalogue covers.

``params`` stay those of the generic call, so that what a policy reads of the body is where it was; what the protocol
means by it stands beside them (``input.llm``, ``input.dns``, ``input.git``, ``input.aws``).
"""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols import aws, dns, git, llm
from headgate.protocols.aws import AWS_TOOL, AwsRequest
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.draft import ActionDraft, Effect, ProtocolFacts, ReadCall, Source, make_draft
from headgate.protocols.git import GIT_TOOL
from headgate.protocols.headers import Headers
from headgate.protocols.websocket import WEBSOCKET_TOOL, handshake_draft, is_handshake
from headgate.tools.generic import call_params

LLM_TOOL: Final = "llm"
DNS_TOOL: Final = "dns"
DNS_QUERY: Final = "query"
RECOGNISED_TOOLS: Final = frozenset({AWS_TOOL, DNS_TOOL, GIT_TOOL, LLM_TOOL, WEBSOCKET_TOOL})
"""Names that no catalogue may take."""


def recognised_draft(read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    """None where the call is of none of these protocols. Raises AmbiguousRequestError: of two at once."""
    query = dns.recognise(read_call, headers)
    request = git.recognise(read_call, headers, body)
    signed = aws.recognise(read_call, headers, body)
    found = {"as a DNS query": query, "as one of Git's": request, "as one of AWS": signed}
    meanings = [meaning for meaning, one in found.items() if one is not None]
    if len(meanings) > 1:
        raise AmbiguousRequestError(
            f"the request can be read in more than one way: {' and '.join(meanings)}",
            details={"field": "content-type"},
        )
    if signed is not None:
        return aws_draft(AWS_TOOL, read_call, body, signed)
    if query is not None:
        return _dns_draft(read_call, headers, body, query)
    if request is not None:
        return _git_draft(read_call, body, request)
    if read_call.call.method == "POST" and body.kind is BodyKind.JSON:
        is_labelled = headers.content_type is not None and not body.type_mismatch
        return _llm_draft(read_call, headers, body) if is_labelled else None
    return None


def websocket_draft(read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    """Also at hosts that a catalogue covers: what an entry says of a GET is not what a socket does."""
    if body.kind is not BodyKind.NONE or not is_handshake(read_call.call.method, headers.shown):
        return None
    return handshake_draft(read_call, call_params(read_call, body))


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


def _git_draft(read_call: ReadCall, body: Body, request: git.GitRequest) -> ActionDraft:
    """What is asked for stands among the params, too: people decide by it, and grants cover it."""
    return make_draft(
        tool=GIT_TOOL,
        operation=request.operation,
        params={**call_params(read_call, body), **request.facts},
        source=Source.PROXY,
        read_call=read_call,
        effect=request.effect,
        facts=ProtocolFacts(GIT_TOOL, canonical_bytes(request.facts)),
    )


def aws_draft(tool: str, read_call: ReadCall, body: Body, request: AwsRequest) -> ActionDraft:
    """What is asked for stands among the params, too, as with Git."""
    return make_draft(
        tool=tool,
        operation=request.operation,
        params={**call_params(read_call, body), **request.facts},
        source=Source.PROXY,
        read_call=read_call,
        effect=request.effect,
        facts=ProtocolFacts(AWS_TOOL, canonical_bytes(request.facts)),
    )


def _llm_draft(read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    request = llm.recognise(read_call.call.host, read_call.path, headers.shown, body.value)
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
