"""An event of the record: what happened, to what, by whom.

The payload, canonical JSON ``{"actor": …, "data": …}``, is kept as the exact text that is hashed
(semantics.md, "Recording"); it is made here, once, and never re-serialised.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from headgate.kernel.canonical_json import JsonObject, canonical_bytes


class EventType(StrEnum):
    """What an event says. The grammar is ``subject.verb``: a noun in the singular, a dot, a past participle.

    The first eight are the specification's (section "Events"); the rest are Headgate's own, for what
    administrators and the gate itself do: they are audited like agents.
    """

    ACTION_SUBMITTED = "action.submitted"
    DECISION_MADE = "decision.made"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_APPROVED = "approval.approved"
    APPROVAL_DENIED = "approval.denied"
    EXECUTION_STARTED = "execution.started"
    EXECUTION_COMPLETED = "execution.completed"
    EXECUTION_FAILED = "execution.failed"

    ACTION_RETRIED = "action.retried"
    ACTION_CANCELLED = "action.cancelled"
    EXECUTION_RESCHEDULED = "execution.rescheduled"
    EXECUTION_RETRIED = "execution.retried"
    EXECUTION_PROCESSED = "execution.processed"
    DECISION_SHADOWED = "decision.shadowed"
    APPROVAL_VOTED = "approval.voted"
    APPROVAL_EXPIRED = "approval.expired"
    APPROVAL_SUPERSEDED = "approval.superseded"
    APPROVAL_REASSIGNED = "approval.reassigned"
    APPROVAL_ESCALATED = "approval.escalated"
    APPROVAL_REMINDED = "approval.reminded"
    APPROVAL_EDITED = "approval.edited"
    APPROVER_GROUP_CREATED = "approver_group.created"
    APPROVER_GROUP_UPDATED = "approver_group.updated"
    APPROVER_GROUP_DELETED = "approver_group.deleted"
    ABSENCE_CREATED = "absence.created"
    ABSENCE_ENDED = "absence.ended"
    REQUEST_REFUSED = "request.refused"
    RESPONSE_WITHHELD = "response.withheld"
    POLICY_CREATED = "policy.created"
    POLICY_UPDATED = "policy.updated"
    POLICY_DELETED = "policy.deleted"
    POLICY_RESTORED = "policy.restored"
    POLICY_QUARANTINED = "policy.quarantined"
    POLICY_DATA_CHANGED = "policy_data.changed"
    POLICY_DATA_DELETED = "policy_data.deleted"
    POLICY_MODULE_CHANGED = "policy_module.changed"
    POLICY_MODULE_DELETED = "policy_module.deleted"
    POLICY_REPLAYED = "policy.replayed"
    NLP_POLICY_CREATED = "nlp_policy.created"
    NLP_POLICY_UPDATED = "nlp_policy.updated"
    NLP_POLICY_DELETED = "nlp_policy.deleted"
    CANARY_CREATED = "canary.created"
    CANARY_REVOKED = "canary.revoked"
    CANARY_FOUND = "canary.found"
    AGENT_CREATED = "agent.created"
    AGENT_UPDATED = "agent.updated"
    AGENT_SUSPENDED = "agent.suspended"
    AGENT_RESUMED = "agent.resumed"
    AGENT_DEACTIVATED = "agent.deactivated"
    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    KEY_TAKEN_OVER = "key.taken_over"
    KEY_ROTATION_DUE = "key.rotation_due"
    SETTING_CHANGED = "setting.changed"
    SETTING_TESTED = "setting.tested"
    WEBHOOK_CREATED = "webhook.created"
    WEBHOOK_UPDATED = "webhook.updated"
    WEBHOOK_DELETED = "webhook.deleted"
    WEBHOOK_ROTATED = "webhook.rotated"
    WEBHOOK_DISABLED = "webhook.disabled"
    CONNECTION_CREATED = "connection.created"
    CONNECTION_UPDATED = "connection.updated"
    CONNECTION_DELETED = "connection.deleted"
    CONNECTION_AUTHORIZED = "connection.authorized"
    CONNECTION_REFRESHED = "connection.refreshed"
    CONNECTION_BROKEN = "connection.broken"
    CONNECTION_RECOVERED = "connection.recovered"
    CONNECTION_TESTED = "connection.tested"
    WEBHOOK_TESTED = "webhook.tested"
    NOTIFICATION_TESTED = "notification.tested"
    DELIVERY_REPEATED = "delivery.repeated"
    STOP_PLACED = "stop.placed"
    STOP_LIFTED = "stop.lifted"
    USER_CREATED = "user.created"
    GRANT_CREATED = "grant.created"
    GRANT_CONFIRMED = "grant.confirmed"
    GRANT_USED = "grant.used"
    GRANT_EXHAUSTED = "grant.exhausted"
    GRANT_REVOKED = "grant.revoked"
    BREAK_GLASS_OPENED = "break_glass.opened"
    BREAK_GLASS_USED = "break_glass.used"
    BREAK_GLASS_ENDED = "break_glass.ended"
    BREAK_GLASS_REVIEWED = "break_glass.reviewed"
    USER_DEACTIVATED = "user.deactivated"
    USER_REACTIVATED = "user.reactivated"
    MFA_CODES_GENERATED = "mfa_codes.generated"
    MFA_CODES_PURGED = "mfa_codes.purged"
    MFA_CODE_USED = "mfa_code.used"
    MFA_REFUSED = "mfa.refused"
    MFA_LOCKED = "mfa.locked"
    MFA_UNLOCKED = "mfa.unlocked"
    MFA_FACTOR_ENROLLED = "mfa_factor.enrolled"
    MFA_FACTOR_VERIFIED = "mfa_factor.verified"
    MFA_FACTOR_REMOVED = "mfa_factor.removed"
    PASSKEY_REGISTERED = "passkey.registered"
    PASSKEY_REMOVED = "passkey.removed"
    ORGANIZATION_CREATED = "organization.created"
    INVITATION_CREATED = "invitation.created"
    INVITATION_ACCEPTED = "invitation.accepted"
    INVITATION_REVOKED = "invitation.revoked"
    USER_GRANTED = "user.granted"
    LOGIN_SUCCEEDED = "login.succeeded"
    LOGIN_FAILED = "login.failed"
    SESSION_ENDED = "session.ended"
    PROOF_PACK_EXPORTED = "proof_pack.exported"
    AUDIT_EXPORTED = "audit.exported"
    BODY_DROPPED = "body.dropped"
    BODY_ERASED = "body.erased"
    LEGAL_HOLD_PLACED = "legal_hold.placed"
    LEGAL_HOLD_LIFTED = "legal_hold.lifted"
    REPORT_REQUESTED = "report.requested"
    REPORT_MADE = "report.made"
    REPORT_FAILED = "report.failed"
    REPORT_DOWNLOADED = "report.downloaded"
    REPORT_DELETED = "report.deleted"
    INTEGRATION_DECIDED = "integration.decided"
    INTEGRATION_REFUSED = "integration.refused"
    EVENT_STREAM_FAILED = "event_stream.failed"
    EVENT_STREAM_RECOVERED = "event_stream.recovered"
    CHECKPOINT_EXPORT_FAILED = "checkpoint.export_failed"
    CHECKPOINT_EXPORT_RECOVERED = "checkpoint.export_recovered"
    SIGNING_KEY_ROTATED = "signing_key.rotated"
    SIGNING_KEY_RETIRED = "signing_key.retired"
    JOURNAL_ENTRY_MISSED = "journal_entry.missed"
    JOURNAL_ENTRY_APPLIED = "journal_entry.applied"
    MCP_TOOL_CHANGED = "mcp_tool.changed"
    MCP_TOOL_ACCEPTED = "mcp_tool.accepted"
    MCP_SERVER_FORGOTTEN = "mcp_server.forgotten"
    TRAFFIC_READ = "traffic.read"
    TRAFFIC_EXPORTED = "traffic.exported"
    TRAFFIC_ANNOTATED = "traffic.annotated"
    TRAFFIC_ERASED = "traffic.erased"
    BACKUP_RESTORED = "backup.restored"


class ActorType(StrEnum):
    """Who did it (the specification's schema of an audit event)."""

    AGENT = "agent"
    USER = "user"
    SYSTEM = "system"


class Actor(Struct, frozen=True):
    """Who did it; ``name`` is what people know them by, ``address`` the network address that they came from, where
    these are known."""

    type: ActorType
    id: str
    name: str | None = None
    address: str | None = None


SYSTEM: Final = Actor(ActorType.SYSTEM, "headgate")
"""Headgate itself, by the clock or by its own rules."""


@lru_cache(maxsize=4096)
def _actor_text(actor: Actor) -> str:
    members: JsonObject = {"id": actor.id, "type": actor.type.value}
    if actor.name is not None:
        members["name"] = actor.name
    if actor.address is not None:
        members["address"] = actor.address
    return canonical_bytes(members).decode()


def payload_text(actor: Actor, data: JsonObject) -> str:
    """The payload as it is stored and hashed. Raises ValidationError for what JSON cannot hold.

    In the path of every request, hence the concatenation: "actor" sorts before "data", so it is canonical.
    """
    return f'{{"actor":{_actor_text(actor)},"data":{canonical_bytes(data).decode()}}}'


class Event(Struct, frozen=True):
    """Something that happened, before it is sealed. ``data`` must not hold a secret: it is kept for ever."""

    event_type: EventType
    created_at: datetime
    actor: Actor
    data: JsonObject = field(default_factory=dict)
    action_id: str | None = None
    agent_id: str | None = None

    def payload(self) -> str:
        """The exact text that is stored and hashed."""
        return payload_text(self.actor, self.data)


class SealedEvent(Struct, frozen=True):
    """An event in its organization's chain. ``actor`` is None and ``data`` empty where the payload was erased.

    ``problem``: why its row is not what was sealed; what stands in the row is shown all the same. A time that no
    calendar of ours has is shown as it was sealed; None: nor does the header say one.
    """

    event_id: str
    seq: int
    event_type: str
    action_id: str | None
    agent_id: str | None
    created_at: datetime | None
    sealed_at: datetime | None
    actor: Actor | None
    data: JsonObject
    hash: bytes
    prev_hash: bytes
    problem: str | None


class EventFilter(Struct, frozen=True):
    """What to list; None means any. ``start`` and ``end`` bound ``created_at``, both inclusive. ``without_action``:
    only what happened outside of actions. ``risk_level``, ``tool``, ``operation`` and ``decision`` are those of the
    event's action; ``agents``: any of these; ``seq``: the number in the chain. ``text`` is searched for in the actor
    and the data, ``actor`` in the actor only, in either case; ``hash`` is the event's own, 32 bytes. These three have
    no index: events are looked through."""

    start: datetime | None = None
    end: datetime | None = None
    event_type: str | None = None
    action_id: str | None = None
    agent_id: str | None = None
    risk_level: str | None = None
    tool: str | None = None
    operation: str | None = None
    decision: str | None = None
    agents: tuple[str, ...] | None = None
    text: str | None = None
    without_action: bool = False
    seq: int | None = None
    actor: str | None = None
    hash: bytes | None = None

    @property
    def is_search(self) -> bool:
        """Whether events must be looked through."""
        return self.text is not None or self.actor is not None or self.hash is not None

    def of_agents(self, agents: Iterable[str]) -> "EventFilter":
        """Those of it that are of one of these agents."""
        return replace(self, agents=tuple(agents))


class EventPage(Struct, frozen=True):
    """One page, newest first. ``total`` is a minimum where it is not exact (semantics.md, "Tenancy and roles")."""

    events: Sequence[SealedEvent]
    total: int
    total_is_minimum: bool
    next_cursor: str | None
