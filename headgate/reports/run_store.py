"""Which events a report is about, and which checkpoint covers them: read from what never changes."""

from datetime import datetime
from typing import Final

from psycopg import sql

from headgate.audit.chain import genesis, parse_header
from headgate.audit.chain_store import range_of, stored_header
from headgate.audit.chain_verifier import ChainFault, checked_header, instant_of
from headgate.audit.payload import read_payload
from headgate.audit.stored_events import SELECT, read_events
from headgate.db.database import Connection
from headgate.evidence.checkpoint import parse_checkpoint
from headgate.evidence.note import parse_note
from headgate.evidence.tree_store import (
    StoredCheckpoint,
    first_checkpoint_from,
    get_checkpoint,
    latest_checkpoint,
    load_tree,
)
from headgate.reports.basis import Basis, SignedCheckpoint
from headgate.reports.model import ReportRequest

# Literals, so that the planner knows them to be among those of the index of the rare types.
_NAMES: Final = sql.SQL("""
    {} WHERE e.org_id = %s AND e.seq <= %s AND e.payload IS NOT NULL
      AND e.event_type IN ('policy.created', 'policy.updated', 'policy.restored', 'nlp_policy.created',
                           'nlp_policy.updated')
    ORDER BY e.seq DESC LIMIT 10000
""").format(SELECT)
_LAST: Final = """
    SELECT seq FROM audit_chain WHERE org_id = %s AND sealed_at <= %s ORDER BY sealed_at DESC, seq DESC LIMIT 1
"""


async def find_basis(connection: Connection, org_id: str, request: ReportRequest) -> Basis:
    """The run, and the first checkpoint that covers all up to the end of the range: the same one whenever it is asked
    for, once there is one. Raises NotFoundError where a checkpoint of that size was asked for and is not there."""
    run = await range_of(connection, org_id, request.start, request.end)
    last = run[1] if run is not None else await _last_before(connection, org_id, request.end)
    wanted: StoredCheckpoint | None = None
    if request.most_events is not None:
        wanted = await get_checkpoint(connection, org_id, request.most_events)
        last = min(last, wanted.size)
    elif last:
        wanted = await first_checkpoint_from(connection, org_id, last)
    first = None if run is None or run[0] > last else run[0]
    before = None if first in (None, 1) else await stored_header(connection, org_id, (first or 1) - 1)
    return Basis(
        organization_id=org_id,
        organization=await _organization(connection, org_id),
        request=request,
        first_seq=first,
        last_seq=None if first is None else last,
        prev_hash=(genesis(org_id) if before is None else before.hash).hex(),
        checkpoint=None if wanted is None else _signed(wanted),
        no_checkpoint=None if wanted is not None else await _why_none(connection, org_id),
        fault=None,
        record_begins=await _begins(connection, org_id),
        names=await _names(connection, org_id, last),
    )


def _signed(stored: StoredCheckpoint) -> SignedCheckpoint:
    checkpoint = parse_checkpoint(parse_note(stored.note))
    root = checkpoint.body().split("\n")[2]
    return SignedCheckpoint(checkpoint.origin, checkpoint.size, root, stored.note)


async def _why_none(connection: Connection, org_id: str) -> str:
    tree = await load_tree(connection, org_id)
    if tree.problem is not None:
        return tree.problem
    latest = await latest_checkpoint(connection, org_id)
    if latest is None:
        return "no checkpoint has been signed yet"
    return f"the newest checkpoint, of {latest.size:,} events, does not reach the end of the range yet"


async def _last_before(connection: Connection, org_id: str, end: datetime) -> int:
    row = await (await connection.execute(_LAST, [org_id, end])).fetchone()
    return 0 if row is None else int(row["seq"])


async def _begins(connection: Connection, org_id: str) -> datetime | None:
    """As the header says: what stands beside it may be no time at all."""
    first = await stored_header(connection, org_id, 1)
    header = None if first is None else parse_header(first.header)
    return None if header is None else instant_of(header.sealed_at)


async def _organization(connection: Connection, org_id: str) -> str:
    cursor = await connection.execute("SELECT name FROM organizations WHERE org_id = %s", [org_id])
    row = await cursor.fetchone()
    return org_id if row is None else str(row["name"])


async def _names(connection: Connection, org_id: str, last_seq: int) -> dict[str, str]:
    """What policies were called at the end of the run, as the record has it: names of now would change old reports."""
    found: dict[str, str] = {}
    for event in await read_events(connection, _NAMES, [org_id, last_seq]):
        if event.payload is None or isinstance(checked_header(org_id, event), ChainFault):
            continue
        payload = read_payload(event.payload)
        data = {} if payload is None else payload.data
        policy_id, name = data.get("policy_id"), data.get("name")
        if isinstance(policy_id, str) and isinstance(name, str):
            found.setdefault(policy_id, name)
    return dict(sorted(found.items()))
