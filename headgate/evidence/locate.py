"""Which event is the first that is not as it was signed, once a root has shown that one is not."""

from psycopg.rows import tuple_row

from headgate.audit.chain_verifier import ChainFault, FaultReason
from headgate.db.database import Connection
from headgate.evidence.checkpoint import Checkpoint
from headgate.evidence.merkle import leaf_hash
from headgate.evidence.stored_tree import builder_at, stored_leaves


async def first_difference(connection: Connection, org_id: str, good_size: int, failed: Checkpoint) -> ChainFault:
    """The stored leaves tell, where they still have the root that was signed; else only the stretch is known."""
    leaves = await stored_leaves(connection, org_id, good_size, failed.size)
    builder = await builder_at(connection, org_id, good_size)
    builder.append(leaves)
    signed = f"the checkpoint of {failed.size} events"
    if builder.size != failed.size or builder.frontier().root() != failed.root:
        message = f"one of the events {good_size + 1} to {failed.size} is not the one that {signed} was signed over"
        return ChainFault(good_size + 1, None, FaultReason.NOT_AS_SIGNED, message)
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(
            "SELECT c.seq, c.hash, e.event_id FROM audit_chain c"
            " LEFT JOIN audit_events e ON e.org_id = c.org_id AND e.seq = c.seq"
            " WHERE c.org_id = %s AND c.seq > %s AND c.seq <= %s ORDER BY c.seq",
            [org_id, good_size, failed.size],
        )
        expected = good_size
        async for seq, digest, event_id in cursor:
            if seq != expected + 1:
                break
            if leaf_hash(digest) != leaves[seq - good_size - 1]:
                message = f"event {seq} is not the one that {signed} was signed over: it was written anew"
                return ChainFault(seq, event_id, FaultReason.NOT_AS_SIGNED, message)
            expected = seq
    return ChainFault(
        expected + 1, None, FaultReason.MISSING, f"no event with seq {expected + 1}, which {signed} covers"
    )
