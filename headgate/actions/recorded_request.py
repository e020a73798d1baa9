"""What is stored of a request: ``{params, context?, delegation?, effect?, http?}``, canonical, its secrets masked.

Of a recognised protocol also what it says of the call, under its own name (``llm``, ``mcp``)."""

from headgate.actions.masking import mask
from headgate.protocols.draft import ActionDraft

_EMPTY = b"{}"


def recorded_request(draft: ActionDraft) -> bytes:
    """Members in canonical order, each piece canonical already."""
    pieces: list[bytes] = []
    if draft.context != _EMPTY:
        pieces += (b',"context":', draft.context)
    if draft.delegation != _EMPTY:
        pieces += (b',"delegation":', draft.delegation)
    if draft.effect is not None:
        pieces.append(b',"effect":"%s"' % draft.effect.encode())
    if draft.read_call is not None:
        pieces += (b',"http":', draft.read_call.shown)
    if draft.facts is not None:
        pieces += (b',"%s":' % draft.facts.member.encode(), draft.facts.shown)
    pieces += (b',"params":', draft.params_bytes, b"}")
    return mask(b"{" + b"".join(pieces)[1:])
