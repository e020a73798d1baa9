"""Recorded events become deliveries of the endpoints that subscribe to them, in the cursor's own transaction."""

from collections.abc import Sequence

from headgate.approvals.message_facts_store import message_facts
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Connection
from headgate.deliveries.store import insert_delivery
from headgate.kernel.clock import Clock
from headgate.queue.store import defer
from headgate.relay.model import RecordedEvent
from headgate.webhooks.model import OF_RECORD
from headgate.webhooks.payload import payload_of
from headgate.webhooks.service import DELIVER_WEBHOOK, new_delivery, sequence_of
from headgate.webhooks.store import list_endpoints

WEBHOOK_TYPES = frozenset(OF_RECORD)


async def relay_webhooks(connection: Connection, org_id: str, events: Sequence[RecordedEvent], clock: Clock) -> int:
    """How many deliveries that made."""
    endpoints = [one for one in await list_endpoints(connection, org_id) if one.enabled]
    if not endpoints or not events:
        return 0
    about = await message_facts(connection, org_id, {one.action_id for one in events if one.action_id is not None})
    change = Change(org_id, SYSTEM, None, clock())
    made = 0
    for event in events:
        kind = OF_RECORD[event.event_type]
        facts = None if event.action_id is None else about.get(event.action_id)
        payload = payload_of(kind, event, facts)
        subject_id = event.approval_id or (None if facts is None else facts.approval_id) or event.action_id
        for endpoint in endpoints:
            if kind not in endpoint.events or event.created_at < endpoint.created_at:
                continue
            delivery = new_delivery(endpoint, kind, payload, change, event_id=event.event_id, subject_id=subject_id)
            if await insert_delivery(connection, delivery):
                await defer(
                    connection, DELIVER_WEBHOOK, org_id, delivery.delivery_id, lock=sequence_of(endpoint, subject_id)
                )
                made += 1
    return made
