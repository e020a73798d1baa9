"""Which single events were applied lately, for the attestations of their writers (``headgate.audit.written_events``).

What is kept is not the digest but a code under a key that the database does not have: its owner cannot make a deleted
event look applied.
"""

from collections.abc import Collection

from psycopg.rows import tuple_row

from headgate.db.database import Connection
from headgate.kernel.entry_codes import Checker, Signer


async def find_applied(connection: Connection, org_id: str, digests: Collection[bytes], checker: Checker) -> set[bytes]:
    """Those of them that were applied."""
    if not digests:
        return set()
    by_code = {code: digest for digest in digests for code in checker.codes(_message(org_id, digest))}
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(
            "SELECT code FROM journal_applied WHERE org_id = %s AND code = ANY (%s)", [org_id, list(by_code)]
        )
        return {by_code[code] for (code,) in await cursor.fetchall()}


async def keep_applied(connection: Connection, org_id: str, digests: Collection[bytes], signer: Signer) -> None:
    """In the transaction that applies the events."""
    if digests:
        codes = [signer.code(_message(org_id, digest)) for digest in digests]
        await connection.execute("SELECT keep_applied_events(%s, %s)", [org_id, codes])


def _message(org_id: str, digest: bytes) -> bytes:
    # Neither an entry's message nor a count's begins so: an identifier of an organization is not empty.
    return b"\0\0" + org_id.encode() + b"\0" + digest
