"""Finds events that are not in the chain: rows of a month's table before its first or after its last event.

Verification follows the chain and does not reach them. Events inserted within the chain are found by their neighbors.
"""

from datetime import datetime

from headgate.audit.chain_store import first_outside
from headgate.audit.chain_verifier import ChainFault, FaultReason
from headgate.db.database import Connection


async def inserted_event(
    connection: Connection, org_id: str, start: datetime | None = None, end: datetime | None = None
) -> ChainFault | None:
    """The first of those that say they were sealed in a range of time (both ends inclusive; without one, of all)."""
    found = await first_outside(connection, org_id, start, end)
    if found is None:
        return None
    seq, event_id = found
    message = "no link of the chain is of this event: it was inserted, or the chain was cut off before it"
    return ChainFault(seq, event_id, FaultReason.INSERTED, message)
