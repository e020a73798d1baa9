"""Verifying a record with this service's own keys, against its own checkpoints and those that somebody kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from headgate.audit.chain_verifier import ChainFault, FaultReason, Verification
from headgate.db.database import Connection
from headgate.evidence.explain_rollback import with_restores
from headgate.evidence.note import VerifierKey
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.tree_store import chain_length, sample_checkpoints
from headgate.evidence.verify_record import Progress, RecordVerification, read_points, verify_record
from headgate.evidence.verify_tables import with_tables
from headgate.kernel.errors import UnavailableError

_OWN_CHECKPOINTS: Final = 200


def _no_progress(events: int) -> None:
    """Where nobody watches."""


async def verify_with_checkpoints(
    connection: Connection,
    org_id: str,
    source: SigningKeySource,
    given: Sequence[str],
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Progress = _no_progress,
) -> RecordVerification:
    """The record, and the tables beside it. ``given`` are signed notes that were kept elsewhere."""
    length = await chain_length(connection, org_id)
    own = await sample_checkpoints(connection, org_id, 1, max(length, 1), _OWN_CHECKPOINTS)
    texts = [*given, *(one.note for one in own)]
    try:
        keys = [] if source.is_missing else source.load().verifier_keys(f"{source.load().log_name}/{org_id}")
    except UnavailableError as error:
        keys = []
        if texts:
            return _no_key(error.message)
    if texts and not keys:
        return _no_key(f"the signing key is missing ({source.file})")
    found = await verify_against(connection, org_id, texts, keys, start=start, end=end, progress=progress)
    return await with_tables(connection, org_id, found, start=start, end=end)


async def verify_against(
    connection: Connection,
    org_id: str,
    texts: Sequence[str],
    keys: Sequence[VerifierKey],
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Progress = _no_progress,
) -> RecordVerification:
    """With keys that the caller trusts. A checkpoint that cannot be believed is a fault of its own."""
    points, fault = read_points(texts, keys, org_id)
    if fault is not None:
        return RecordVerification(Verification(fault, 0))
    found = await verify_record(connection, org_id, points, start=start, end=end, progress=progress)
    return await with_restores(connection, org_id, found, points)


def _no_key(reason: str) -> RecordVerification:
    message = f"checkpoints were signed and cannot be checked: {reason}"
    return RecordVerification(Verification(ChainFault(0, None, FaultReason.CHECKPOINT_INVALID, message), 0))
