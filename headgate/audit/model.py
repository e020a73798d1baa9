"""An event of the record: what happened, to what, by whom.

The payload, canonical JSON ``{"actor": …, "data": …}``, is kept as the exact text that is hashed
(semantics.md, "Recording"); it is made here, once, and never re-serialised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final

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
    DECISION_SHADOWED = "decision.shadowed"
    APPROVAL_VOTED = "approval.voted"
    APPROVAL_EXPIRED = "approval.expired"
    APPROVAL_SUPERSEDED = "approval.superseded"
    REQUEST_REFUSED = "request.refused"
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
    AGENT_CREATED = "agent.created"
    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    SETTING_CHANGED = "setting.changed"
    USER_CREATED = "user.created"


class ActorType(StrEnum):
    """Who did it (the specification's schema of an audit event)."""

    AGENT = "agent"
    USER = "user"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it; ``name`` is what people know them by, where it is known."""

    type: ActorType
    id: str
    name: str | None = None


SYSTEM: Final = Actor(ActorType.SYSTEM, "headgate")
"""Headgate itself, by the clock or by its own rules."""


@lru_cache(maxsize=4096)
def _actor_text(actor: Actor) -> str:
    members: JsonObject = {"id": actor.id, "type": actor.type.value}
    if actor.name is not None:
        members["name"] = actor.name
    return canonical_bytes(members).decode()


def payload_text(actor: Actor, data: JsonObject) -> str:
    """The payload as it is stored and hashed. Raises ValidationError for what JSON cannot hold.

    In the path of every request, hence the concatenation: "actor" sorts before "data", so it is canonical.
    """
    return f'{{"actor":{_actor_text(actor)},"data":{canonical_bytes(data).decode()}}}'


@dataclass(frozen=True, slots=True)
class Event:
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


@dataclass(frozen=True, slots=True)
class SealedEvent:
    """An event in its organization's chain. ``actor`` is None and ``data`` empty where the payload was erased."""

    event_id: str
    seq: int
    event_type: str
    action_id: str | None
    agent_id: str | None
    created_at: datetime
    sealed_at: datetime
    actor: Actor | None
    data: JsonObject
    hash: bytes
    prev_hash: bytes


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What to list; None means any. ``start`` and ``end`` bound ``created_at``, both inclusive."""

    start: datetime | None = None
    end: datetime | None = None
    event_type: str | None = None
    action_id: str | None = None
    agent_id: str | None = None
    risk_level: str | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """One page, newest first. ``total`` is a minimum where it is not exact (semantics.md, "Tenancy and roles")."""

    events: Sequence[SealedEvent]
    total: int
    total_is_minimum: bool
    next_cursor: str | None
