"""Checks that the record has an erasure for each missing payload. A missing payload without one was removed.

The chain allows an event without its payload, because people have a right to be forgotten (decision 0022). Each erasure
to that depth is an event of the same action, ``body.erased``, which stays. If the action has no such event, evidence
was removed: the check reports it like any other change.

The erasure event must be in the chain, after the event whose payload it erased. An attacker who can remove a payload
can also write a row, but cannot add it to the chain.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from headgate.audit.chain import Header, parse_header, payload_digest, quoted
from headgate.audit.chain_store import recorded_erasures
from headgate.audit.chain_verifier import ChainFault, FaultReason
from headgate.audit.model import EventType
from headgate.db.database import Connection


class Erased(NamedTuple):
    """An event whose payload is not there; the header is what was hashed."""

    seq: int
    header: str


class Explained(NamedTuple):
    """``fault``: the first payload that nothing explains. ``until``: the events that explain the others are there up to
    this number, if the chain holds until then, which is not looked at here."""

    fault: ChainFault | None
    until: int = 0


async def explained_erasures(connection: Connection, org_id: str, erased: Sequence[Erased]) -> Explained:
    """What the record says of them."""
    if not erased:
        return Explained(None)
    headers = {one.seq: parse_header(one.header) for one in erased}
    named = {header.action[1:-1] for header in headers.values() if header is not None}
    told: defaultdict[str, list[int]] = defaultdict(list)
    for one in await recorded_erasures(connection, org_id, sorted(named)):
        header = parse_header(one.header)
        if (
            header is not None
            and header.type == quoted(EventType.BODY_ERASED)
            and header.action == quoted(one.action_id)
            and payload_digest(one.salt, one.payload).hex() == header.payload_digest
        ):
            told[header.action].append(one.seq)
    until = 0
    for seq, of_erased in headers.items():
        later = [at for at in told.get("" if of_erased is None else of_erased.action, ()) if at > seq]
        if not later:
            return Explained(_fault(seq, of_erased))
        until = max(until, min(later))
    return Explained(None, until)


def _fault(seq: int, header: Header | None) -> ChainFault:
    message = "its payload is gone, and no event of the record says that it was erased"
    return ChainFault(seq, None if header is None else header.id[1:-1], FaultReason.PAYLOAD_MISSING, message)
