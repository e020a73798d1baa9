"""What is stored of a request: ``{params, context?, delegation?, effect?, http?}``, canonical, its secrets masked.

Of a recognised protocol also what it says of the call, under its own name (``dns``, ``llm``, ``mcp``)."""

from headgate.actions.masking import mask
from headgate.protocols.draft import ActionDraft

_EMPTY = b"{}"


def recorded_request(draft: ActionDraft) -> bytes:
    """Members in canonical order, each piece canonical already."""
    members = [b'"params":' + draft.params_bytes]
    if draft.context != _EMPTY:
        members.append(b'"context":' + draft.context)
    if draft.delegation != _EMPTY:
        members.append(b'"delegation":' + draft.delegation)
    if draft.effect is not None:
        members.append(b'"effect":"%s"' % draft.effect.encode())
    if draft.read_call is not None:
        members.append(b'"http":' + draft.read_call.shown)
    if draft.facts is not None:
        members.append(b'"%s":%s' % (draft.facts.member.encode(), draft.facts.shown))
    members.sort()
    return mask(b"{%s}" % b",".join(members))
