"""Verifying what is stored: the run of events that were sealed in a range of time."""

from contextlib import aclosing
from datetime import datetime

from headgate.audit.chain_store import range_of, stream_chain
from headgate.audit.chain_verifier import ChainVerifier, Verification
from headgate.db.database import Database


async def verify_range(
    database: Database, org_id: str, start: datetime | None = None, end: datetime | None = None
) -> Verification:
    """A contiguous run of ``seq`` by sealing time, both ends inclusive; an empty one is valid.

    Streams in constant memory. Raises UnavailableError.
    """
    async with database.transaction(org_id) as connection:
        run = await range_of(connection, org_id, start, end)
        if run is None:
            return Verification(fault=None, events_verified=0)
        verifier = ChainVerifier(org_id, *run)
        async with aclosing(stream_chain(connection, org_id, *run)) as events:
            async for event in events:
                if not verifier.add(event):
                    break
    return verifier.result()
