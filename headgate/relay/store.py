"""All SQL of the cursors. But for ``due``, every function runs inside a transaction of the organization."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from headgate.audit.chain import unquoted
from headgate.audit.chain_verifier import ChainFault, instant_of
from headgate.audit.led_to import LedEvent, led_to
from headgate.audit.payload import NO_PAYLOAD, read_payload
from headgate.db.database import Connection
from headgate.relay.model import Consumer, RecordedEvent


class Due(Struct, frozen=True):
    org_id: str
    consumer: Consumer


async def due(connection: Connection, consumers: Collection[Consumer]) -> Sequence[Due]:
    """What these have not looked at, over all organizations; in any order, so that none waits behind a busy one."""
    cursor = await connection.execute(
        "SELECT org_id, consumer FROM relay_due() WHERE consumer = ANY (%s)", [[one.value for one in consumers]]
    )
    return [Due(row["org_id"], Consumer(row["consumer"])) for row in await cursor.fetchall()]


async def start_at_the_end(connection: Connection, org_id: str, consumer: Consumer) -> None:
    """From now on, unless the consumer follows the record already."""
    await connection.execute(
        "INSERT INTO event_cursors (org_id, consumer, seq)"
        " SELECT %(org)s, %(consumer)s, coalesce(max(c.seq), 0) FROM audit_chain c WHERE c.org_id = %(org)s"
        " ON CONFLICT DO NOTHING",
        {"org": org_id, "consumer": consumer.value},
    )


async def stop(connection: Connection, org_id: str, consumer: Consumer) -> None:
    """Nobody listens any more: the record is not looked at for this consumer."""
    await connection.execute("DELETE FROM event_cursors WHERE org_id = %s AND consumer = %s", [org_id, consumer.value])


async def lock_cursor(connection: Connection, org_id: str, consumer: Consumer) -> int | None:
    """Where the consumer stands; None where another worker is moving it, or it follows no more."""
    cursor = await connection.execute(
        "SELECT seq FROM event_cursors WHERE org_id = %s AND consumer = %s FOR UPDATE SKIP LOCKED",
        [org_id, consumer.value],
    )
    row = await cursor.fetchone()
    return None if row is None else int(row["seq"])


async def move_cursor(connection: Connection, org_id: str, consumer: Consumer, seq: int) -> None:
    await connection.execute(
        "UPDATE event_cursors SET seq = %s WHERE org_id = %s AND consumer = %s", [seq, org_id, consumer.value]
    )


async def end_of_stretch(connection: Connection, org_id: str, seq: int, limit: int) -> int | None:
    """The last of up to ``limit`` events after ``seq``; None where there is none."""
    cursor = await connection.execute(
        "SELECT max(s.seq) AS seq FROM (SELECT seq FROM audit_chain WHERE org_id = %s AND seq > %s"
        " ORDER BY seq LIMIT %s) s",
        [org_id, seq, limit],
    )
    row = await cursor.fetchone()
    return None if row is None or row["seq"] is None else int(row["seq"])


class Stretch(Struct, frozen=True):
    """Both in the chain's order. ``faults``: what stands in the tables and was not sealed so; it is told to nobody as
    an event."""

    events: Sequence[RecordedEvent]
    faults: Sequence[ChainFault]


async def events_between(
    connection: Connection, org_id: str, after: int, until: int, types: Collection[str] | None = None
) -> Stretch:
    """Those of these types; None: of all. ``until`` lies within the chain."""
    led = await led_to(connection, org_id, after, until, types)
    return Stretch([one for event in led.events if (one := _event(event)) is not None], led.faults)


def _event(event: LedEvent) -> RecordedEvent | None:
    """As its header says, which the row's columns were held against; None where its time is none."""
    header, payload = event.header, event.stored.payload
    created_at = instant_of(header.created_at)
    if created_at is None:
        return None
    read = NO_PAYLOAD if payload is None else read_payload(payload) or NO_PAYLOAD
    return RecordedEvent(
        event_id=header.id[1:-1],
        seq=event.stored.seq,
        event_type=header.type[1:-1],
        action_id=unquoted(header.action),
        agent_id=unquoted(header.agent),
        created_at=created_at,
        actor=read.actor,
        data=read.data,
    )
