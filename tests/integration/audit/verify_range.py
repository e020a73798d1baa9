"""The chain alone, without the checkpoints that ``headgate.evidence.verify_record`` holds it against."""

from datetime import datetime

from headgate.audit.chain_store import range_of
from headgate.audit.chain_verifier import Verification
from headgate.audit.verification import verify_run
from headgate.db.database import Database


async def verify_range(
    database: Database, org_id: str, start: datetime | None = None, end: datetime | None = None
) -> Verification:
    """A contiguous run of ``seq`` by sealing time, both ends inclusive; an empty one is valid."""
    async with database.transaction(org_id) as connection:
        run = await range_of(connection, org_id, start, end)
        if run is None:
            return Verification(fault=None, events_verified=0)
        return await verify_run(connection, org_id, *run)
