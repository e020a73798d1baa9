"""What it takes to check one event by hand: its exact hashed texts, its neighbours, and its place in a signed tree."""

from typing import Final

from msgspec import Struct

from headgate.audit.chain import parse_header
from headgate.db.database import Connection
from headgate.evidence.checkpoint import InclusionProof
from headgate.evidence.prove import prove_inclusion
from headgate.evidence.tree_store import first_checkpoint_from
from headgate.kernel.errors import NotFoundError, UnavailableError

_NOT_YET: Final = "no signed checkpoint covers it yet"

_AROUND: Final = """
    SELECT c.seq, c.header, e.salt, e.payload FROM audit_chain c
    LEFT JOIN audit_events e ON e.org_id = c.org_id AND e.seq = c.seq
    WHERE c.org_id = %s AND c.seq BETWEEN %s AND %s
"""


class EventEvidence(Struct, frozen=True):
    """``header`` is what the event's hash is of; ``salt`` and ``payload`` are None where they were erased.
    ``tree_size`` is that of the proof's checkpoint; without a proof ``proof_missing`` says why."""

    previous_id: str | None
    next_id: str | None
    header: str
    salt: bytes | None
    payload: str | None
    tree_size: int
    proof: InclusionProof | None
    proof_missing: str | None


async def event_evidence(connection: Connection, org_id: str, seq: int) -> EventEvidence:
    """Raises NotFoundError."""
    cursor = await connection.execute(_AROUND, [org_id, seq - 1, seq + 1])
    rows = {row["seq"]: row for row in await cursor.fetchall()}
    if seq not in rows:
        raise NotFoundError(f"no event with the number {seq}")
    size, proof, missing = 0, None, _NOT_YET
    checkpoint = await first_checkpoint_from(connection, org_id, seq)
    if checkpoint is not None:
        size = checkpoint.size
        try:
            (path,) = await prove_inclusion(connection, org_id, [seq - 1], size)
            proof = InclusionProof(seq - 1, path, checkpoint.note)
        except UnavailableError as error:
            missing = error.message
    row = rows[seq]
    return EventEvidence(
        previous_id=_id_of(rows[seq - 1]["header"]) if seq - 1 in rows else None,
        next_id=_id_of(rows[seq + 1]["header"]) if seq + 1 in rows else None,
        header=row["header"],
        salt=None if row["salt"] is None else bytes(row["salt"]),
        payload=row["payload"],
        tree_size=size,
        proof=proof,
        proof_missing=None if proof is not None else missing,
    )


def _id_of(header: str) -> str | None:
    parsed = parse_header(header)
    return None if parsed is None else parsed.id[1:-1]
