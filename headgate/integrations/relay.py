"""Turns recorded events into items and notices in trackers, chats and checks, in the cursor's own transaction."""

import json
from collections.abc import Sequence
from typing import Final

from headgate.approvals.message_facts_store import MessageFacts, message_facts
from headgate.approvals.store import get_approval
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Connection
from headgate.deliveries.model import Delivery
from headgate.deliveries.store import insert_delivery
from headgate.integrations.form import IntegrationSettings
from headgate.integrations.model import Integration
from headgate.integrations.service import INTEGRATE, enabled_integrations, new_delivery, sequence_of
from headgate.integrations.store import is_followed
from headgate.integrations.tracker_settings import AskingSettings
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.notifications.relay import message_payload
from headgate.queue.store import defer
from headgate.relay.model import RecordedEvent

REQUESTED: Final = "approval.requested"
INTEGRATION_TYPES: Final = frozenset(
    {
        REQUESTED,
        "approval.voted",
        "approval.edited",
        "approval.escalated",
        "approval.approved",
        "approval.denied",
        "approval.expired",
        "approval.superseded",
    }
)


async def relay_integrations(connection: Connection, org_id: str, events: Sequence[RecordedEvent], clock: Clock) -> int:
    """Returns the number of deliveries made."""
    enabled = await enabled_integrations(connection, org_id)
    if not enabled or not events:
        return 0
    about = await message_facts(connection, org_id, {one.action_id for one in events if one.action_id is not None})
    change = Change(org_id, SYSTEM, None, clock())
    made = 0
    for event in events:
        facts = None if event.action_id is None else about.get(event.action_id)
        if facts is None or (approval_id := event.approval_id or facts.approval_id) is None:
            continue
        for integration, settings in enabled.items():
            if not await _is_delivered(connection, org_id, integration, settings, event, facts, approval_id):
                continue
            payload = await _payload(connection, org_id, settings, event, facts, approval_id)
            delivery = new_delivery(
                change, integration, event.event_type, payload, event_id=event.event_id, subject_id=approval_id
            )
            made += await put_delivery(connection, integration, delivery)
    return made


async def put_delivery(connection: Connection, integration: Integration, delivery: Delivery) -> bool:
    """Queues a delivery behind those of the same approval or report. False if this event was delivered there
    already."""
    if not await insert_delivery(connection, delivery):
        return False
    lock = await sequence_of(connection, integration, delivery)
    await defer(connection, INTEGRATE, delivery.org_id, delivery.delivery_id, lock=lock)
    return True


async def _is_delivered(
    connection: Connection,
    org_id: str,
    integration: Integration,
    settings: IntegrationSettings,
    event: RecordedEvent,
    facts: MessageFacts,
    approval_id: str,
) -> bool:
    if event.event_type != REQUESTED:
        return await is_followed(connection, org_id, integration, approval_id)
    if not isinstance(settings, AskingSettings):
        return False
    # An approval decided before its request could be sent opens no item.
    return facts.status == "pending" and (not settings.risk_levels or facts.risk_level in settings.risk_levels)


async def _payload(
    connection: Connection,
    org_id: str,
    settings: IntegrationSettings,
    event: RecordedEvent,
    facts: MessageFacts,
    approval_id: str,
) -> JsonObject:
    payload = message_payload(event, facts)
    if event.event_type in {"approval.voted", "approval.edited"} and event.actor is not None:
        payload["by"] = event.actor.name or event.actor.id
    for name in ("vote", "current_approvals"):
        if name in event.data:
            payload[name] = event.data[name]
    if event.event_type == REQUESTED:
        approval, action = await get_approval(connection, org_id, approval_id)
        payload["digest"] = "sha256:" + approval.digest.hex()  # of the submitted params
        if isinstance(settings, AskingSettings) and settings.include_params:
            payload["params"] = json.loads(json.dumps(action.params))
    return payload
