"""A call in which what content policies found is replaced, as every way in makes it."""

from collections.abc import Awaitable, Callable, Sequence

from headgate.connections.errors import BrokenConnectionError, NoConnectionError
from headgate.gate.candidate import BoundCandidate, Candidate
from headgate.gate.masked_body import masked_in_time
from headgate.gate.pipeline import Masked
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, ValidationError
from headgate.policies.model import FoundText
from headgate.protocols.http_call import HttpCall
from headgate.protocols.websocket import WEBSOCKET_TOOL

type Read = Callable[[HttpCall, bytes], Awaitable[Candidate]]
"""The call with another body."""

type BindMasked = Callable[[Candidate], Awaitable[BoundCandidate]]


async def masked_call(
    candidate: BoundCandidate, found: Sequence[FoundText], read: Read, bind: BindMasked
) -> Masked | None:
    """None: it cannot be replaced, or the call would be another one with it. Raises what ``read`` and ``bind`` raise
    for other reasons than the call."""
    draft, call = candidate.draft, candidate.draft.call
    if call is None or draft.tool == WEBSOCKET_TOOL:
        return None
    made = await masked_in_time(call.headers, call.query, call.body, found)
    if made is None:
        return None
    try:
        masked = await read(call, made.body)
        if (masked.draft.tool, masked.draft.operation) != (draft.tool, draft.operation):
            return None  # what is done with the answer is that of the call as it was read
        bound = await bind(masked)
    except (AmbiguousRequestError, BrokenConnectionError, NoConnectionError, PayloadTooLargeError, ValidationError):
        return None
    if bound.connection != candidate.connection:
        return None  # the placeholder is among what was replaced
    return Masked(bound, made.count, made.kinds)
