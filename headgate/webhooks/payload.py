"""What an endpoint is sent: ``{"event", "timestamp", "data"}`` (specification, "Webhook events").

The specification gives the members of ``data`` for approval.approved only; the others': docs/guides/webhooks.md.
"""

from typing import Final

from headgate.approvals.message_facts_store import MessageFacts
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.clock import rfc3339
from headgate.relay.model import RecordedEvent
from headgate.webhooks.model import WebhookEvent

_OF_EVENT: Final[dict[WebhookEvent, tuple[str, ...]]] = {
    WebhookEvent.APPROVAL_APPROVED: ("comment", "current_approvals", "required_approvals"),
    WebhookEvent.APPROVAL_DENIED: ("reason", "current_approvals", "required_approvals"),
    WebhookEvent.APPROVAL_EXPIRED: ("reason",),
    WebhookEvent.APPROVAL_ESCALATED: ("reason", "assignees"),
    WebhookEvent.EXECUTION_COMPLETED: ("execution_id", "attempts"),
    WebhookEvent.EXECUTION_FAILED: ("execution_id", "attempts", "error"),
}
_DECIDED_BY: Final = {
    WebhookEvent.APPROVAL_APPROVED: "approved_by",
    WebhookEvent.APPROVAL_DENIED: "denied_by",
}


def payload_of(kind: WebhookEvent, event: RecordedEvent, about: MessageFacts | None) -> bytes:
    """To the byte what is signed and sent, at every attempt."""
    data: JsonObject = {"event_id": event.event_id, "action_id": event.action_id, "agent_id": event.agent_id}
    approval_id = event.approval_id or (None if about is None else about.approval_id)
    if approval_id is not None:
        data["approval_id"] = approval_id
    if about is not None:
        data |= {
            "agent_name": about.agent_name,
            "tool": about.tool,
            "operation": about.operation,
            "risk_level": about.risk_level,
        }
        if about.expires_at is not None and kind.value.startswith("approval."):
            data["expires_at"] = rfc3339(about.expires_at)
        if kind is WebhookEvent.APPROVAL_CREATED:
            data |= {
                "reason": about.reason,
                "required_approvals": about.required_approvals,
                "assignees": list[JsonValue](about.assignees),
            }
    for name in _OF_EVENT.get(kind, ()):
        if name in event.data:
            data[name] = event.data[name]
    if kind in _DECIDED_BY and event.actor is not None:
        data[_DECIDED_BY[kind]] = {"id": event.actor.id, "email": _email(event.actor.name)}
        data.setdefault("comment" if kind is WebhookEvent.APPROVAL_APPROVED else "reason", None)
    return canonical_bytes({"event": kind.value, "timestamp": rfc3339(event.created_at), "data": data})


def _email(name: str | None) -> str | None:
    """The record names a person by address, or by name where no identity provider vouched for an address."""
    return name if name is not None and "@" in name else None
