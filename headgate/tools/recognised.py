"""Protocols that ride on plain HTTP requests, at hosts that no catalogue covers.

``params`` stay those of the generic call, so that what a policy reads of the body is where it was; what the protocol
means by it stands beside them (``input.llm``).
"""

from typing import Final

from headgate.kernel.canonical_json import canonical_bytes
from headgate.protocols import llm
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.draft import ActionDraft, Effect, ProtocolFacts, ReadCall, Source, make_draft
from headgate.protocols.headers import Headers
from headgate.tools.generic import call_params

LLM_TOOL: Final = "llm"
RECOGNISED_TOOLS: Final = frozenset({LLM_TOOL})
"""Names that no catalogue may take."""


def recognised_draft(read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft | None:
    """None where the call is of none of these protocols. Raises nothing but HeadgateError."""
    if read_call.call.method == "POST" and body.kind is BodyKind.JSON:
        is_labelled = headers.content_type is not None and not body.type_mismatch
        return _llm_draft(read_call, headers, body) if is_labelled else None
    return None


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
        facts=ProtocolFacts(LLM_TOOL, canonical_bytes(request.facts)),
    )
