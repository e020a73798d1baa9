"""What policies read as ``input``, joined from pieces that are serialised already.

``{tool, operation, effect, params, context, agent {id, name}, delegation, http, source}``, and what a recognised
protocol says under its own name (``llm``). The binding aliases
``input.action`` to the same value, so it is not written twice (measured: parsing it twice costs as much again).
"""

from headgate.kernel.canonical_json import canonical_bytes
from headgate.protocols.draft import ActionDraft


def rego_input(draft: ActionDraft, *, agent_id: str, agent_name: str) -> bytes:
    """JSON in UTF-8. ``http`` is there whenever Headgate makes the call; ``effect`` is null where unknown."""
    effect = "null" if draft.effect is None else f'"{draft.effect}"'
    pieces = [
        f'{{"tool":"{draft.tool}","operation":"{draft.operation}","effect":{effect},'.encode(),
        f'"source":"{draft.source}","agent":'.encode(),
        canonical_bytes({"id": agent_id, "name": agent_name}),
        b',"params":',
        draft.params_bytes,
        b',"context":',
        draft.context,
        b',"delegation":',
        draft.delegation,
    ]
    if draft.read_call is not None:
        pieces += (b',"http":', draft.read_call.shown)
    if draft.facts is not None:
        pieces += (f',"{draft.facts.member}":'.encode(), draft.facts.shown)
    pieces.append(b"}")
    return b"".join(pieces)
