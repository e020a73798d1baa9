"""Recorded events become messages to people: routed, or collected for a digest, in the cursor's own transaction."""

from collections.abc import Sequence
from typing import Final

from headgate.approvals.summary import for_a_channel, sent_call
from headgate.approvals.told_store import Told, told_of
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Connection
from headgate.deliveries.model import DeliveryStatus
from headgate.deliveries.store import end_delivery, insert_delivery
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.clock import Clock, rfc3339
from headgate.notifications.model import NOBODY, OUTCOMES, TOLD_EVENTS, ChannelKind, NotificationSettings
from headgate.notifications.routing import Subject, channels_for
from headgate.notifications.service import DIGEST, NOTIFY, load_settings, new_delivery
from headgate.notifications.store import earlier_messages, single_messages_since
from headgate.queue.store import defer
from headgate.relay.model import RecordedEvent

NOTIFICATION_TYPES: Final = frozenset(TOLD_EVENTS) | OUTCOMES
_ASKING: Final = frozenset({"approval.requested", "approval.reminded", "approval.escalated"})
_CRITICAL: Final = "critical"


async def relay_notifications(
    connection: Connection, org_id: str, events: Sequence[RecordedEvent], clock: Clock
) -> int:
    """How many messages that made."""
    settings = await load_settings(connection, org_id)
    about = await told_of(connection, org_id, {one.action_id for one in events if one.action_id is not None})
    change = Change(org_id, SYSTEM, None, clock())
    made = 0
    for event in events:
        told = None if event.action_id is None else about.get(event.action_id)
        if event.event_type in OUTCOMES:
            made += await _update_earlier(connection, change, settings, event, told)
        made += await _route(connection, change, settings, event, told)
    return made


async def _route(
    connection: Connection,
    change: Change,
    settings: NotificationSettings,
    event: RecordedEvent,
    told: Told | None,
) -> int:
    if event.event_type in _ASKING and told is not None and told.status != "pending":
        return 0  # decided before anybody could be asked
    channels = channels_for(settings, _subject(event, told), change.at)
    payload = canonical_bytes(message_payload(event, told)).decode()
    subject_id = _approval_of(event, told) or event.action_id
    if not channels and event.event_type in _ASKING:
        # Nobody hears of it: that itself must be seen.
        nobody = new_delivery(change, NOBODY, event.event_type, payload, event_id=event.event_id, subject_id=subject_id)
        if await insert_delivery(connection, nobody):
            await end_delivery(connection, nobody, DeliveryStatus.PARKED, change.at)
        return 0
    made = 0
    for channel in channels:
        flooded = not (told is not None and told.risk_level == _CRITICAL) and (
            await single_messages_since(connection, change.org_id, channel, change.at - settings.digest.window)
            >= settings.digest.most_single
        )
        status = DeliveryStatus.COLLECTED if flooded else DeliveryStatus.PENDING
        delivery = new_delivery(
            change, channel, event.event_type, payload,
            event_id=event.event_id, subject_id=subject_id, status=status,
        )  # fmt: skip
        if not await insert_delivery(connection, delivery):
            continue
        made += 1
        if flooded:
            await defer(
                connection, DIGEST, change.org_id, channel,
                at=change.at + settings.digest.window, once=f"digest {change.org_id} {channel}",
            )  # fmt: skip
        else:
            await defer(
                connection, NOTIFY, change.org_id, delivery.delivery_id,
                lock=None if subject_id is None else f"notify {change.org_id} {channel} {subject_id}",
            )  # fmt: skip
    return made


async def _update_earlier(
    connection: Connection,
    change: Change,
    settings: NotificationSettings,
    event: RecordedEvent,
    told: Told | None,
) -> int:
    """Messages with buttons say what became of what they asked, however it was decided."""
    approval_id, made = _approval_of(event, told), 0
    if approval_id is None:
        return 0
    for earlier in await earlier_messages(connection, change.org_id, approval_id):
        channel = settings.channels.get(earlier.target_id)
        if channel is None or channel.kind is not ChannelKind.SLACK or not channel.enabled:
            continue
        payload = message_payload(event, told) | {"updates": earlier.delivery_id}
        delivery = new_delivery(
            change, channel.name, event.event_type, canonical_bytes(payload).decode(),
            event_id=event.event_id, subject_id=approval_id,
        )  # fmt: skip
        if await insert_delivery(connection, delivery):
            await defer(
                connection, NOTIFY, change.org_id, delivery.delivery_id,
                lock=f"notify {change.org_id} {channel.name} {approval_id}",
            )  # fmt: skip
            made += 1
    return made


def _approval_of(event: RecordedEvent, told: Told | None) -> str | None:
    return event.approval_id or (None if told is None else told.approval_id)


def _subject(event: RecordedEvent, told: Told | None) -> Subject:
    agents = {event.agent_id} if event.agent_id else set()
    if told is None:
        return Subject(event.event_type, None, None, frozenset(agents), frozenset())
    names = {told.agent_name} if told.agent_name else set()
    return Subject(
        event.event_type,
        told.risk_level,
        told.tool,
        frozenset(agents | names | {told.agent_id}),
        frozenset(told.assignees),
    )


def message_payload(event: RecordedEvent, told: Told | None) -> JsonObject:
    """What a message is made of when it is sent."""
    payload: JsonObject = {
        "event": event.event_type,
        "timestamp": rfc3339(event.created_at),
        "approval_id": _approval_of(event, told),
        "action_id": event.action_id,
        "agent_id": event.agent_id,
    }
    if told is not None:
        payload |= {
            "agent_name": told.agent_name,
            "tool": told.tool,
            "operation": told.operation,
            "call": sent_call(told.tool, told.operation, for_a_channel(told.http)),
            "risk_level": told.risk_level,
            "reason": told.reason,
            "required_approvals": told.required_approvals,
            "assignees": list[JsonValue](told.assignees),
        }
        if event.event_type in _ASKING and told.expires_at is not None:
            payload["expires_at"] = rfc3339(told.expires_at)
    for name in ("reason", "comment", "url", "owner"):
        if isinstance(event.data.get(name), str) and (name != "reason" or event.event_type not in _ASKING):
            payload["reason" if name == "comment" else name] = event.data[name]
    if event.event_type == "policy.quarantined":
        payload["policy"] = event.data.get("name") or event.data.get("policy_id")
    if event.actor is not None and event.event_type in OUTCOMES | {"break_glass.opened", "break_glass.used"}:
        payload["by"] = event.actor.name or event.actor.id
    return payload
