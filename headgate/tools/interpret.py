"""From an intercepted call to an action draft: the one function that the proxy calls.

Pure. It raises nothing but HeadgateError, whatever the bytes are: what cannot be read in exactly one way is
refused, since a policy that reads it otherwise than the server does is no policy.
"""

from typing import Final

from msgspec.structs import replace

from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols import aws, mcp
from headgate.protocols.aws_chunks import joined_chunks
from headgate.protocols.body import Body, BodyKind, BodyReading, read_body
from headgate.protocols.draft import (
    ActionDraft,
    Effect,
    ProtocolFacts,
    ReadCall,
    Source,
    below_400,
    make_draft,
    make_read_call,
)
from headgate.protocols.headers import Headers, read_headers
from headgate.protocols.http_call import HttpCall, check_method, normalise_host, normalise_path
from headgate.protocols.llm_endpoints import llm_endpoint, names_model_by_arn
from headgate.protocols.names import mcp_server_tool
from headgate.protocols.overrides import refuse_method_override
from headgate.protocols.package_npm import with_plain_scope
from headgate.protocols.query import Pairs, parse_pairs
from headgate.tools.generic import generic_draft, unlisted_draft
from headgate.tools.graphql import graphql_draft
from headgate.tools.match import CatalogueIndex, HostIndex, PathMatch
from headgate.tools.model import Entry, HostProtocol, Protocol
from headgate.tools.named import named_draft
from headgate.tools.params import map_params, with_host_param
from headgate.tools.recognised import git_draft, recognised_draft, websocket_draft

_SHORT_DOCUMENT_BYTES: Final = 1 << 10


def interpret(call: HttpCall, catalogue: CatalogueIndex) -> ActionDraft:
    """Raises AmbiguousRequestError, PayloadTooLargeError, ValidationError; nothing is guessed."""
    check_method(call.method)
    host = normalise_host(call.host)
    if host != call.host:
        call = replace(call, host=host)
    host_index = catalogue.for_host(host)
    covering = None if host_index is None else host_index.catalogue
    is_npm = covering is not None and covering.protocol is HostProtocol.NPM
    path = normalise_path(
        with_plain_scope(call.path) if is_npm else call.path,
        encoded_slashes=names_model_by_arn(host, call.path) if covering is None else covering.encoded_slashes,
    )
    query = parse_pairs(call.query, field="query")
    if query:
        refuse_method_override((name for name, _ in query), field="query")
    headers = read_headers(call.headers)
    joined_chunks(call.headers, call.body)  # refuses chunks that cannot be joined; content policies join them again
    if host_index is None:
        return _uncovered(call, path, query, headers)
    return _covered(call, path, query, headers, host_index)


def is_long_document(call: HttpCall, catalogue: CatalogueIndex) -> bool:
    """Whether it may carry a GraphQL document whose reading would hold up other calls: those are parsed in Python."""
    if len(call.body) + len(call.query) <= _SHORT_DOCUMENT_BYTES:
        return False
    host_index = catalogue.for_host(call.host.lower().rstrip("."))
    return host_index is not None and host_index.speaks_graphql


def _uncovered(call: HttpCall, path: str, query: Pairs, headers: Headers) -> ActionDraft:
    endpoint = llm_endpoint(call.host, path) if call.method == "POST" else None
    body = read_body(call.body, headers.content_type, headers.content_encoding, is_for_model=endpoint is not None)
    read_call = make_read_call(call, path, query, headers, body)
    if call.method == "POST":
        message = mcp.recognise(headers.shown, body.value) if body.kind is BodyKind.JSON else None
        if message is not None:
            if aws.recognise(read_call, headers, body) is not None:
                # A service of AWS may ignore the members that it does not know.
                raise AmbiguousRequestError(
                    "the request can be read in more than one way: as a message of MCP and as one of AWS",
                    details={"field": "body"},
                )
            # Nobody has said that an MCP server is there, so even a listing may be anything: a write.
            return _mcp_draft(mcp_server_tool(call.host, call.port), message, read_call, Effect.WRITE)
        covered = mcp.covered_response(headers.shown, body.value, body.sha256)
        read_call = replace(read_call, covered_body_sha256=covered)
    draft = recognised_draft(read_call, headers, body, endpoint) or websocket_draft(read_call, headers, body)
    return generic_draft(read_call, body) if draft is None else draft


def _covered(call: HttpCall, path: str, query: Pairs, headers: Headers, host_index: HostIndex) -> ActionDraft:
    catalogue = host_index.catalogue
    match = host_index.find(call.method, path)
    reading = catalogue.reading if match is None else match.entries[0].reading
    if match is not None and match.entries[0].protocol is Protocol.MCP:
        # A server may ignore Content-Type, and the body of a POST can only be a message.
        reading = BodyReading.JSON if call.method == "POST" else BodyReading.BY_TYPE
    elif match is not None and match.entries[0].protocol is Protocol.GRAPHQL:
        reading = BodyReading.JSON
    is_listed = match is not None
    body = read_body(call.body, headers.content_type, headers.content_encoding, reading=reading, is_listed=is_listed)
    read_call = make_read_call(call, path, query, headers, body)
    socket = websocket_draft(read_call, headers, body)
    if socket is not None:
        return socket
    if catalogue.protocol is not None:
        return named_draft(catalogue, read_call, headers, body)
    if match is not None:
        if match.entries[0].protocol is Protocol.GRAPHQL:
            return graphql_draft(match, read_call, query, body, catalogue)
        if match.entries[0].protocol is Protocol.MCP:
            draft = _catalogued_mcp(match.entries[0], read_call, headers, body)
        else:
            draft = _catalogued(match, read_call, query, headers, body, catalogue.host_param)
        if draft is not None:
            return draft
    elif (pushed_or_fetched := git_draft(read_call, headers, body)) is not None:
        return pushed_or_fetched
    return unlisted_draft(catalogue.tool, read_call, body, reads_are_safe=catalogue.unlisted_reads)


def _catalogued(
    match: PathMatch, read_call: ReadCall, query: Pairs, headers: Headers, body: Body, host_param: str | None
) -> ActionDraft | None:
    entry = match.choose(read_call.query, body)
    if entry is None:
        return None
    params = map_params(entry, match.values, query, body, headers.shown)
    if host_param is not None:
        params = with_host_param(params, host_param, entry, read_call.call.host)
    return make_draft(
        tool=entry.tool,
        operation=entry.operation,
        params=params,
        source=Source.PROXY,
        read_call=read_call,
        effect=entry.effect,
        expected_status=below_400 if entry.expected_status is None else entry.expected_status.__contains__,
        catalogue_sha256=entry.sha256,
    )


def _catalogued_mcp(entry: Entry, read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    method = read_call.call.method
    if method == "POST":
        message = mcp.recognise_at_server(headers.shown, body.value) if body.kind is BodyKind.JSON else None
        if message is None:
            return None
        effect = Effect.READ if message.is_read else Effect.WRITE
        return replace(_mcp_draft(entry.tool, message, read_call, effect), catalogue_sha256=entry.sha256)
    if body.kind is not BodyKind.NONE:
        return None
    # Streamable HTTP: GET listens to the server's messages, DELETE ends the session; both say nothing else.
    return make_draft(
        tool=entry.tool,
        operation="mcp_session_end" if method == "DELETE" else "mcp_listen",
        params={},
        source=Source.PROXY,
        read_call=read_call,
        effect=Effect.READ,
        catalogue_sha256=entry.sha256,
    )


def _mcp_draft(tool: str, message: mcp.McpMessage, read_call: ReadCall, effect: Effect) -> ActionDraft:
    read_call = replace(read_call, covered_body_sha256=message.covered_body(read_call.covered_body_sha256))
    return make_draft(
        tool=tool,
        operation=message.operation,
        params=message.params,
        source=Source.PROXY,
        read_call=read_call,
        effect=effect,
        mcp=message.exchange,
        facts=ProtocolFacts("mcp", canonical_bytes(message.facts)),
    )
