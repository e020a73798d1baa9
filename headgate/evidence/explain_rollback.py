"""After a verification: whether a restore from a backup explains that a checkpoint and the log do not agree."""

from collections.abc import Sequence
from dataclasses import replace

from headgate.audit.chain_verifier import ChainFault, FaultReason
from headgate.db.database import Connection
from headgate.evidence.checkpoint import Checkpoint
from headgate.evidence.recorded_restores import recorded_restores
from headgate.evidence.verify_record import RecordVerification


async def with_restores(
    connection: Connection, org_id: str, found: RecordVerification, points: Sequence[Checkpoint]
) -> RecordVerification:
    """Adds what the log says of restores. A checkpoint that the log does not agree with stays a fault; where a restore
    explains it, the fault says so."""
    restores = await recorded_restores(connection, org_id)
    found = replace(found, restores=restores)
    fault = found.chain.fault
    if fault is None or fault.reason not in (FaultReason.NOT_AS_SIGNED, FaultReason.MISSING):
        return found
    failed = next((one for one in points if one.size >= fault.seq), None)
    restore = None if failed is None else next((one for one in restores if one.head_seq < failed.size), None)
    if failed is None or restore is None:
        return found
    message = (
        f"the checkpoint of {failed.size} events is of the log before it was restored: {restore.describe()}. Events"
        f" {restore.head_seq + 1} to {failed.size} of that log are lost. If the restore is known to you, set the"
        f" checkpoints of lost events aside: headgate audit accept-restore {restore.event_id}"
    )
    explained = ChainFault(fault.seq, restore.event_id, FaultReason.ROLLED_BACK, message)
    return replace(found, chain=replace(found.chain, fault=explained))
