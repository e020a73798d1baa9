"""What is stored of a request: ``{params, context?, delegation?, effect?, http?}``, canonical, its secrets masked.

Of a recognised protocol also what it says of the call, under its own name (``llm``)."""

from headgate.actions.masking import mask
from headgate.protocols.draft import ActionDraft, ProtocolFacts

_EMPTY = b"{}"


def recorded_request(draft: ActionDraft) -> bytes:
    """Members in canonical order, each piece canonical already."""
    if draft.facts is not None:
        return _with_facts(draft, draft.facts)
    pieces: list[bytes] = []
    if draft.context != _EMPTY:
        pieces += (b',"context":', draft.context)
    if draft.delegation != _EMPTY:
        pieces += (b',"delegation":', draft.delegation)
    if draft.effect is not None:
        pieces.append(b',"effect":"%s"' % draft.effect.encode())
    if draft.read_call is not None:
        pieces += (b',"http":', draft.read_call.shown)
    pieces += (b',"params":', draft.params_bytes, b"}")
    return mask(b"{" + b"".join(pieces)[1:])


def _with_facts(draft: ActionDraft, facts: ProtocolFacts) -> bytes:
    members = {facts.member: facts.shown, "params": draft.params_bytes}
    if draft.context != _EMPTY:
        members["context"] = draft.context
    if draft.delegation != _EMPTY:
        members["delegation"] = draft.delegation
    if draft.effect is not None:
        members["effect"] = b'"%s"' % draft.effect.encode()
    if draft.read_call is not None:
        members["http"] = draft.read_call.shown
    return mask(b"{" + b",".join(b'"%s":%s' % (name.encode(), members[name]) for name in sorted(members)) + b"}")
