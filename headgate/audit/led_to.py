"""Selects the events that the chain links to: only these may be passed on as recorded.

A row of a month's table is an event of the record only if a link of the chain covers it. An attacker with write access
to the tables can add other rows, also with numbers that the chain has not reached yet. A reader by number alone would
later hand these out as evidence.
"""

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct
from psycopg import sql

from headgate.audit.chain import Header, StoredEvent, genesis
from headgate.audit.chain_verifier import ChainFault, FaultReason, checked_header
from headgate.audit.stored_events import COLUMNS, read_rows
from headgate.db.database import Connection

# Bounded on all sides by values, as the window of a verification is (chain_store).
_STRETCH: Final = sql.SQL(f"""
    SELECT {COLUMNS}, p.hash FROM audit_chain c
    LEFT JOIN audit_chain p ON p.org_id = c.org_id AND p.seq = c.seq - 1
        AND p.org_id = %(org)s AND p.seq >= %(after)s AND p.seq < %(until)s
    {{join}} audit_events e ON e.org_id = c.org_id AND e.seq = c.seq
        AND e.org_id = %(org)s AND e.seq > %(after)s AND e.seq <= %(until)s
    WHERE c.org_id = %(org)s AND c.seq > %(after)s AND c.seq <= %(until)s {{types}}
    ORDER BY c.seq
""")  # noqa: S608 - constants of this file
_ALL: Final = _STRETCH.format(join=sql.SQL("LEFT JOIN"), types=sql.SQL(""))
_OF_TYPES: Final = _STRETCH.format(join=sql.SQL("JOIN"), types=sql.SQL("AND e.event_type = ANY (%(types)s)"))


class LedEvent(Struct, frozen=True):
    """An event whose rows are as its header says."""

    stored: StoredEvent
    header: Header


class Led(Struct, frozen=True):
    """Both in the chain's order. ``faults``: rows that are not what was sealed, one for each; what comes behind a
    break of the chain follows from its own predecessor, and only the break is one."""

    events: Sequence[LedEvent]
    faults: Sequence[ChainFault]


async def led_to(
    connection: Connection, org_id: str, after: int, until: int, types: Collection[str] | None = None
) -> Led:
    """The events with the numbers behind ``after`` up to ``until``; with ``types``, those of them."""
    values = {"org": org_id, "after": after, "until": until}
    if types is None:
        rows = await read_rows(connection, _ALL, values)
    else:
        rows = await read_rows(connection, _OF_TYPES, {**values, "types": sorted(types)})
    events: list[LedEvent] = []
    faults: list[ChainFault] = []
    for *columns, previous in rows:
        event = StoredEvent(*columns)
        header = checked_header(org_id, event)
        if isinstance(header, ChainFault):
            faults.append(header)
        elif fault := _link_fault(org_id, event, header, previous):
            faults.append(fault)
        else:
            events.append(LedEvent(event, header))
    return Led(events, faults)


def _link_fault(org_id: str, event: StoredEvent, header: Header, previous: bytes | None) -> ChainFault | None:
    """``previous``: the hash of the event before, as the chain has it."""
    if event.seq == 1:
        previous = genesis(org_id)
    if previous is None:
        message = f"no event with seq {event.seq - 1} comes before it"
        return ChainFault(event.seq, event.event_id, FaultReason.MISSING, message)
    if header.prev_hash != previous.hex():
        message = f"it is not linked to the event before it, which has sha256:{previous.hex()}"
        return ChainFault(event.seq, event.event_id, FaultReason.LINK_BROKEN, message)
    return None
