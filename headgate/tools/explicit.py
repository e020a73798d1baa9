"""An explicit action with the call that it stands for, read exactly as if the proxy had seen it.

Rendered, and then read by the one function that reads intercepted calls: policies, index, guard and digest see the
same ``http``, params and effect whichever way an action comes (semantics.md, "The action and what an approval
covers"). A body without a call (a tool that no catalogue knows) stays what it was: decided by what it says, and carried
out by its agent. One that lacks a param of its call is refused: allowed, it could never be carried out.
"""

from msgspec.structs import replace

from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, ValidationError
from headgate.protocols.draft import ActionDraft, ProtocolFacts, Source, make_draft
from headgate.protocols.http_call import HttpCall, with_body_of
from headgate.protocols.mcp import told_message
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex
from headgate.tools.render import render
from headgate.tools.unrendered import Unrendered


def explicit_draft(
    tool: str, operation: str, params: JsonObject, catalogue: CatalogueIndex, *, context: bytes, delegation: bytes
) -> ActionDraft:
    """Raises ValidationError: a value that cannot be sent, or a call that is another operation than it says."""
    rendered = render(tool, operation, params, catalogue)
    if isinstance(rendered, Unrendered):
        # Looked for first: most contexts tell of no message.
        document = parse_strict(context) if b'"mcp"' in context else None
        told = told_message(document) if isinstance(document, dict) else None
        return make_draft(
            tool=tool,
            operation=operation,
            params=params,
            source=Source.API,
            context=context,
            delegation=delegation,
            mcp=None if told is None else told[0],
            facts=None if told is None else ProtocolFacts("mcp", canonical_bytes(told[1])),
        )
    try:
        read = interpret(rendered.call, catalogue)
    except (AmbiguousRequestError, PayloadTooLargeError) as error:
        raise ValidationError(f"params: {error.message}", details=error.details) from error
    if (read.tool, read.operation) != (tool, operation):
        raise ValidationError(
            f"These params make the call {read.tool}.{read.operation}, not {tool}.{operation}. "
            f"Submit it as {read.tool}.{read.operation}.",
            details={"field": "operation", "tool": read.tool, "operation": read.operation},
        )
    return replace(read, source=Source.API, context=context, delegation=delegation)


def with_body(draft: ActionDraft, call: HttpCall, body: bytes, catalogue: CatalogueIndex) -> ActionDraft:
    """``draft``, whose call is ``call``, with another body; perhaps another operation. Raises AmbiguousRequestError,
    PayloadTooLargeError, ValidationError."""
    read = interpret(with_body_of(call, body), catalogue)
    return replace(read, source=draft.source, context=draft.context, delegation=draft.delegation)
