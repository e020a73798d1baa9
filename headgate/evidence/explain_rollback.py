"""After a verification: whether a restore from a backup explains that a checkpoint and the log do not agree."""

from collections.abc import Sequence

from msgspec.structs import replace

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
    if failed is None:
        return found
    # A restore changes nothing up to its backup's head: what differs there was changed by somebody. Where only the
    # stretch up to the checkpoint is known, the difference may be its last event.
    is_exact = fault.reason is FaultReason.MISSING or fault.event_id is not None
    differs_at = fault.seq if is_exact else failed.size
    restore = next((one for one in reversed(restores) if one.head_seq < differs_at), None)
    if restore is None:
        return found
    message = (
        f"the checkpoint of {failed.size} events is not of this log: {fault.message}. If it was signed before this"
        f" restore, the restore explains it: {restore.describe()}; events {restore.head_seq + 1} to {failed.size} of"
        " the log before are lost then. If it was signed later, or nobody knows of the restore, events were removed."
        " A person who knows sets the checkpoints of lost events aside: headgate audit accept-restore"
        f" {restore.event_id}"
    )
    explained = ChainFault(fault.seq, restore.event_id, FaultReason.ROLLED_BACK, message)
    return replace(found, chain=replace(found.chain, fault=explained))
