"""Detects a fork of the chain: two events that name the same predecessor.

Verification finds the second event as out of order, or as one that does not follow its predecessor. If that event is
well-formed by itself, the finding is stronger: the chain was sealed twice, or an attacker inserted an event.
"""

from headgate.audit.chain import Header, genesis, header_hash, parse_header
from headgate.audit.chain_store import headers_at, number_of
from headgate.audit.chain_verifier import ChainFault, FaultReason
from headgate.db.database import Connection


async def fork_at(connection: Connection, org_id: str, seq: int) -> ChainFault | None:
    """None where no event of this number has another one beside it."""
    for header in await _well_made(connection, org_id, seq):
        before = await _before(connection, org_id, header, seq)
        if before is None:
            continue
        for other in await _well_made(connection, org_id, before + 1):
            if other != header and other.prev_hash == header.prev_hash:
                both = f"events {before + 1} ({_id(other)}) and {seq} ({_id(header)})"
                told = f"both follow event {before}" if before else "both are the first of the chain"
                return ChainFault(seq, _id(header), FaultReason.FORKED, f"{both} {told}: the chain was forked")
    return None


async def _well_made(connection: Connection, org_id: str, seq: int) -> list[Header]:
    stored = await headers_at(connection, org_id, seq)
    parsed = [parse_header(one.header) for one in stored if header_hash(one.header) == one.hash]
    return [header for header in parsed if header is not None and int(header.seq) == seq]


async def _before(connection: Connection, org_id: str, header: Header, seq: int) -> int | None:
    """The number of the event that a header names as the one before; 0: it is the first."""
    digest = bytes.fromhex(header.prev_hash)
    return 0 if digest == genesis(org_id) else await number_of(connection, org_id, digest, seq)


def _id(header: Header) -> str:
    return header.id[1:-1]
