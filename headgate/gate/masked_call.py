"""A call in which what content policies found is replaced, as every way in makes it."""

from collections.abc import Awaitable, Callable, Sequence

from headgate.connections.errors import BrokenConnectionError, NoConnectionError
from headgate.gate.candidate import BoundCandidate, Candidate
from headgate.gate.candidate_weight import weight_of
from headgate.gate.masked_body import masked_in_time, weight_of_masking
from headgate.gate.pipeline import Masked
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, ValidationError
from headgate.policies.model import FoundText
from headgate.protocols.http_call import HttpCall

type Read = Callable[[HttpCall, bytes], Awaitable[Candidate]]
"""The call with another body, or the message with another text."""

type Charge = Callable[[int], None]
"""Counts the bytes that the masked copy takes, in place of those that were counted for it before. Raises
UnavailableError where there is no room."""

type BindMasked = Callable[[Candidate], Awaitable[BoundCandidate]]


def not_charged(_size: int) -> None:
    """The API counts the bytes of a request from its arrival, and nothing that is made of them."""


async def masked_call(
    candidate: BoundCandidate, found: Sequence[FoundText], read: Read, bind: BindMasked, charge: Charge
) -> Masked | None:
    """None: it cannot be replaced, or the call would be another one with it. Raises what ``charge`` raises, and what
    ``read`` and ``bind`` raise for other reasons than the call. Only a copy that is returned stays charged."""
    masked: Masked | None = None
    try:
        masked = await _masked_call(candidate, found, read, bind, charge)
    finally:
        if masked is None:
            charge(0)
    return masked


async def _masked_call(
    candidate: BoundCandidate, found: Sequence[FoundText], read: Read, bind: BindMasked, charge: Charge
) -> Masked | None:
    draft, call = candidate.draft, candidate.draft.call
    if call is None:
        return None
    # The fields of a handshake describe and sign its own body, and not the messages that follow.
    fields, query = (call.headers, call.query) if draft.message is None else ((), "")
    charge(weight_of_masking(draft.content, found))
    made = await masked_in_time(fields, query, draft.content, found)
    if made is None:
        return None
    try:
        charge(2 * len(made.body))
        masked = await read(call, made.body)
        charge(len(made.body) + weight_of(masked))
        if (masked.draft.tool, masked.draft.operation) != (draft.tool, draft.operation):
            return None  # what is done with the answer is that of the call as it was read
        bound = await bind(masked)
    except (AmbiguousRequestError, BrokenConnectionError, NoConnectionError, PayloadTooLargeError, ValidationError):
        return None
    if bound.connection != candidate.connection:
        return None  # the placeholder is among what was replaced
    return Masked(bound, made.count, made.kinds)
