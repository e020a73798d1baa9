"""Turns recorded events into messages, routed or collected for a digest, in the cursor's own transaction."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from headgate.approvals.message_facts_store import MessageFacts, message_facts
from headgate.approvals.summary import for_a_channel, sent_call
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Connection
from headgate.deliveries.model import DeliveryStatus
from headgate.deliveries.store import end_delivery, insert_delivery
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.clock import Clock, rfc3339
from headgate.notifications.model import NOTIFIED_EVENTS, OUTCOMES, UNROUTED, ChannelKind, NotificationSettings
from headgate.notifications.names import names_in
from headgate.notifications.routing import Subject, channels_for
from headgate.notifications.service import DIGEST, NOTIFY, load_settings, new_delivery
from headgate.notifications.store import earlier_messages, single_messages_since
from headgate.queue.store import defer
from headgate.relay.model import RecordedEvent

NOTIFICATION_TYPES: Final = frozenset(NOTIFIED_EVENTS) | OUTCOMES
_ASKING: Final = frozenset({"approval.requested", "approval.reminded", "approval.escalated"})
_CRITICAL: Final = "critical"
_NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})


async def relay_notifications(
    connection: Connection, org_id: str, events: Sequence[RecordedEvent], clock: Clock
) -> int:
    """Returns the number of messages made."""
    settings = await load_settings(connection, org_id)
    about = await message_facts(connection, org_id, {one.action_id for one in events if one.action_id is not None})
    names = await names_in(connection, org_id, events)
    change = Change(org_id, SYSTEM, None, clock())
    made = 0
    for event in events:
        facts = None if event.action_id is None else about.get(event.action_id)
        if event.event_type in OUTCOMES:
            made += await _update_earlier(connection, change, settings, event, facts)
        made += await _route(connection, change, settings, event, facts, names)
    return made


async def _route(
    connection: Connection,
    change: Change,
    settings: NotificationSettings,
    event: RecordedEvent,
    facts: MessageFacts | None,
    names: Mapping[str, str],
) -> int:
    if event.event_type in _ASKING and facts is not None and facts.status != "pending":
        return 0  # The approval was decided before the message could be sent.
    channels = channels_for(settings, _subject(event, facts, names), change.at)
    payload = canonical_bytes(message_payload(event, facts, names)).decode()
    subject_id = _approval_of(event, facts) or event.action_id
    if not channels and event.event_type in _ASKING:
        # No channel matches the event. Record that, so that people can see it.
        unrouted = new_delivery(
            change, UNROUTED, event.event_type, payload, event_id=event.event_id, subject_id=subject_id
        )
        if await insert_delivery(connection, unrouted):
            await end_delivery(connection, unrouted, DeliveryStatus.PARKED, change.at)
        return 0
    made = 0
    for channel in channels:
        flooded = not (facts is not None and facts.risk_level == _CRITICAL) and (
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
    facts: MessageFacts | None,
) -> int:
    """Updates messages with buttons to the outcome, however the approval was decided."""
    approval_id, made = _approval_of(event, facts), 0
    if approval_id is None:
        return 0
    for earlier in await earlier_messages(connection, change.org_id, approval_id):
        channel = settings.channels.get(earlier.target_id)
        if channel is None or channel.kind is not ChannelKind.SLACK or not channel.enabled:
            continue
        payload = message_payload(event, facts) | {"updates": earlier.delivery_id}
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


def _approval_of(event: RecordedEvent, facts: MessageFacts | None) -> str | None:
    return event.approval_id or (None if facts is None else facts.approval_id)


def _subject(event: RecordedEvent, facts: MessageFacts | None, names: Mapping[str, str]) -> Subject:
    agents = {event.agent_id, names.get(event.agent_id, event.agent_id)} if event.agent_id else set()
    if facts is None:
        return Subject(event.event_type, None, None, frozenset(agents), frozenset())
    called = {facts.agent_name} if facts.agent_name else set()
    return Subject(
        event.event_type,
        facts.risk_level,
        facts.tool,
        frozenset(agents | called | {facts.agent_id}),
        frozenset(facts.assignees),
    )


def message_payload(
    event: RecordedEvent, facts: MessageFacts | None, names: Mapping[str, str] = _NO_NAMES
) -> JsonObject:
    """The payload from which a message is built when it is sent. ``names``: of agents and people, by identifier."""
    payload: JsonObject = {
        "event": event.event_type,
        "timestamp": rfc3339(event.created_at),
        "approval_id": _approval_of(event, facts),
        "action_id": event.action_id,
        "agent_id": event.agent_id,
    }
    if event.agent_id is not None and event.agent_id in names:
        payload["agent_name"] = names[event.agent_id]
    if facts is not None:
        payload |= {
            "agent_name": facts.agent_name,
            "tool": facts.tool,
            "operation": facts.operation,
            "call": sent_call(facts.tool, facts.operation, for_a_channel(facts.http)),
            "risk_level": facts.risk_level,
            "reason": facts.reason,
            "required_approvals": facts.required_approvals,
            "assignees": list[JsonValue](facts.assignees),
        }
        if event.event_type in _ASKING and facts.expires_at is not None:
            payload["expires_at"] = rfc3339(facts.expires_at)
    for name in ("reason", "comment", "url", "owner"):
        if isinstance(event.data.get(name), str) and (name != "reason" or event.event_type not in _ASKING):
            payload["reason" if name == "comment" else name] = event.data[name]
    if isinstance(owner := payload.get("owner"), str):
        payload["owner"] = names.get(owner, owner)
    if event.event_type == "policy.quarantined":
        payload["policy"] = event.data.get("name") or event.data.get("policy_id")
    if event.event_type == "mcp_tool.changed":
        payload["mcp_tool"] = f"{event.data.get('name')} of {event.data.get('server')}"
    if event.actor is not None and event.event_type in OUTCOMES | {"break_glass.opened", "break_glass.used"}:
        payload["by"] = event.actor.name or event.actor.id
    return payload
