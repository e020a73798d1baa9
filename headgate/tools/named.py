"""Calls to hosts of which a catalogue says as a whole what they speak (``protocol`` of the catalogue)."""

from typing import Final

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols import a2a, aws, grpc, json_rpc, packages
from headgate.protocols.aws import AWS_TOOL
from headgate.protocols.body import Body, BodyKind, begins_as_json
from headgate.protocols.draft import ActionDraft, Effect, ReadCall
from headgate.protocols.headers import Headers
from headgate.protocols.package import PACKAGE, Ecosystem
from headgate.tools.generic import unlisted_draft
from headgate.tools.model import Catalogue, HostProtocol
from headgate.tools.recognised import a2a_draft, described_draft, grpc_draft, rpc_draft

_RAW: Final = (None, "", "identity")
_ECOSYSTEMS: Final = {one.value: one for one in Ecosystem}


def named_draft(catalogue: Catalogue, read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft:
    """Raises AmbiguousRequestError."""
    if catalogue.protocol is HostProtocol.AWS:
        named = aws.NamedHost(bucket=catalogue.name_before(read_call.call.host))
        request = aws.recognise(read_call, headers, body, named=named)
        if request is not None:
            return described_draft(catalogue.tool, read_call, body, request, member=AWS_TOOL)
    if catalogue.protocol is HostProtocol.A2A:
        card = a2a.recognise_card(read_call.call.method, read_call.path)
        if card is not None:
            return a2a_draft(catalogue.tool, read_call, body, card, effect=Effect.READ)
    if catalogue.protocol in (HostProtocol.A2A, HostProtocol.JSON_RPC):
        draft = _rpc_draft(catalogue, read_call, headers, body)
        if draft is not None:
            return draft
    ecosystem = _ECOSYSTEMS.get(catalogue.protocol or "")
    if ecosystem is not None:
        package = packages.recognise(ecosystem, read_call, headers, body, roots=catalogue.roots)
        if package is not None:
            return described_draft(catalogue.tool, read_call, body, package, member=PACKAGE)
    if catalogue.protocol is HostProtocol.GRPC:
        called = grpc.recognise(read_call, headers, body, is_grpc_host=True, definitions=catalogue.definitions)
        if called is not None:
            return grpc_draft(catalogue.tool, read_call, body, called)
    return unlisted_draft(catalogue.tool, read_call, body, reads_are_safe=False)


def _rpc_draft(catalogue: Catalogue, read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    if read_call.call.method != "POST":
        return None
    if body.kind is not BodyKind.JSON:
        _refuse_what_may_be_json(read_call, headers, body)
        return None
    request = json_rpc.recognise(body.value, is_named=True)
    if request is None:
        return None
    call = a2a.recognise(headers, request, is_named=True) if catalogue.protocol is HostProtocol.A2A else None
    if call is None:
        return rpc_draft(catalogue.tool, read_call, body, request)
    effect = Effect.READ if call.is_read else Effect.WRITE
    return a2a_draft(catalogue.tool, read_call, body, call, effect=effect)


def _refuse_what_may_be_json(read_call: ReadCall, headers: Headers, body: Body) -> None:
    """Go's decoder reads the first value and leaves what follows, and other servers take comments: policies about
    methods would not see the call. What is in a content coding and no JSON is refused, too.

    Raises AmbiguousRequestError.
    """
    is_raw = headers.content_encoding in _RAW
    if body.kind is not BodyKind.NONE and (not is_raw or begins_as_json(read_call.call.body)):
        raise AmbiguousRequestError(
            "the body is not JSON, and the server may read a call of JSON-RPC from it: send one JSON value",
            details={"field": "body"},
        )
