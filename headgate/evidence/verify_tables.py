"""After the record: the tables that lists show, held against its events."""

from datetime import datetime

from msgspec.structs import replace

from headgate.audit.chain_verifier import ChainFault, FaultReason
from headgate.db.database import Connection
from headgate.evidence.verify_record import Progress, RecordVerification
from headgate.reconciliation.compare import first_of
from headgate.reconciliation.reconcile import reconcile


async def with_tables(
    connection: Connection,
    org_id: str,
    found: RecordVerification,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Progress | None = None,
) -> RecordVerification:
    """Adds the tables to a verification. Events that differ from the sealed ones prove nothing about tables: where the
    record is broken already, they are not looked at."""
    if not found.chain.valid:
        return found
    told = await reconcile(connection, org_id, start=start, end=end, progress=progress or (lambda actions: None))
    fault = None
    if told.differences:
        fault = ChainFault(0, None, FaultReason.TABLES_DIFFER, first_of(told.differences))
    return replace(found, chain=replace(found.chain, fault=fault), tables=told)
