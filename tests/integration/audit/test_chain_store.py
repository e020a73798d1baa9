"""The chain as the database writes it, against the form that this program knows."""

from contextlib import aclosing
from datetime import UTC, datetime

from headgate.audit import store
from headgate.audit.chain import genesis, header_hash, header_text, payload_digest
from headgate.audit.chain_store import range_of, stream_chain
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading


async def test_the_database_writes_headers_byte_for_byte_as_they_are_verified(
    api_database: Database, organization
) -> None:
    org_id = organization.org_id
    events = [
        Event(EventType.DECISION_MADE, datetime.now(UTC), SYSTEM, {"n": 1}, "act_1", organization.agent_id),
        Event(EventType.POLICY_CREATED, datetime(2026, 1, 2, tzinfo=UTC), SYSTEM, {"text": "\0“"}),
    ]
    async with api_database.transaction(org_id) as connection:
        await store.append(connection, org_id, events)
    await apply_before_reading(api_database, org_id)
    async with api_database.transaction(org_id) as connection:
        run = await range_of(connection, org_id, None, None)
        assert run == (1, 2)
        async with aclosing(stream_chain(connection, org_id, *run)) as stream:
            stored = [event async for event in stream]
    prev_hash = genesis(org_id)
    for event in stored:
        assert event.event_id is not None
        assert event.event_type is not None
        assert event.created_at is not None
        assert event.salt is not None
        assert event.payload is not None
        assert event.header == header_text(
            org_id=org_id,
            seq=event.seq,
            event_id=event.event_id,
            event_type=event.event_type,
            action_id=event.action_id,
            agent_id=event.agent_id,
            created_at=event.created_at,
            sealed_at=event.sealed_at,
            payload_digest=payload_digest(event.salt, event.payload),
            prev_hash=prev_hash,
        )
        assert event.hash == header_hash(event.header)
        prev_hash = event.hash
    assert len(stored) == 2
