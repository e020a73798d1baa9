"""Bodies about the record (specification, "Audit event" and "Audit routes")."""

from datetime import datetime
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from headgate.audit.chain_verifier import Verification
from headgate.audit.model import Actor, SealedEvent
from headgate.kernel.canonical_json import JsonObject


class ActorAnswer(BaseModel):
    type: str
    id: str
    name: str | None


class EventAnswer(BaseModel):
    """``actor`` is null and ``data`` empty where the payload was erased; the hashes stand all the same."""

    id: str
    event_type: str
    action_id: str | None
    agent_id: str | None
    actor: ActorAnswer | None
    data: JsonObject
    hash: str
    prev_hash: str = Field(description="Of the first event: the organization's genesis value.")
    created_at: datetime
    sealed_at: datetime
    seq: int


class CamelEventAnswer(BaseModel):
    """The detailed variant of the schema."""

    id: str
    event_type: str = Field(serialization_alias="eventType")
    entity_type: str = Field(serialization_alias="entityType")
    entity_id: str | None = Field(serialization_alias="entityId")
    actor: ActorAnswer | None
    metadata: JsonObject
    hash: str
    prev_hash: str = Field(serialization_alias="prevHash")
    created_at: datetime = Field(serialization_alias="createdAt")


class VerifyRequest(BaseModel):
    """POST /admin/audit/verify: the range of time in which events were sealed; both ends inclusive."""

    model_config = ConfigDict(extra="forbid")

    start_date: str | None = Field(default=None, max_length=64, description="ISO 8601")
    end_date: str | None = Field(default=None, max_length=64, description="ISO 8601")


class FaultAnswer(BaseModel):
    """The first event that is not what was sealed."""

    seq: int
    event_id: str | None
    reason: str
    message: str


class VerificationAnswer(BaseModel):
    """Hashes and events are null where nothing was sealed in the range."""

    valid: bool
    events_verified: int
    first_event: str | None
    last_event: str | None
    chain_start_hash: str | None = Field(description="Hash of the first event.")
    chain_end_hash: str | None = Field(description="Hash of the last event.")
    payloads_erased: int
    fault: FaultAnswer | None


# Where an event's payload names what its subject is; an action's events name it in a column of their own.
_ENTITY_KEY: Final = {
    "approval": "approval_id",
    "execution": "execution_id",
    "policy": "policy_id",
    "key": "key_id",
    "setting": "name",
    "user": "user_id",
}


def event_answer(event: SealedEvent) -> EventAnswer:
    return EventAnswer(
        id=event.event_id,
        event_type=event.event_type,
        action_id=event.action_id,
        agent_id=event.agent_id,
        actor=_actor(event.actor),
        data=event.data,
        hash=prefixed(event.hash),
        prev_hash=prefixed(event.prev_hash),
        created_at=event.created_at,
        sealed_at=event.sealed_at,
        seq=event.seq,
    )


def camel_event_answer(event: SealedEvent) -> CamelEventAnswer:
    entity_type = event.event_type.partition(".")[0]
    return CamelEventAnswer(
        id=event.event_id,
        event_type=event.event_type,
        entity_type=entity_type,
        entity_id=_entity_id(entity_type, event),
        actor=_actor(event.actor),
        metadata=event.data,
        hash=prefixed(event.hash),
        prev_hash=prefixed(event.prev_hash),
        created_at=event.created_at,
    )


def _entity_id(entity_type: str, event: SealedEvent) -> str | None:
    named = event.data.get(_ENTITY_KEY.get(entity_type, ""))
    return named if isinstance(named, str) else event.action_id or event.agent_id


def verification_answer(verification: Verification) -> VerificationAnswer:
    fault = verification.fault
    return VerificationAnswer(
        valid=verification.valid,
        events_verified=verification.events_verified,
        first_event=verification.first_event,
        last_event=verification.last_event,
        chain_start_hash=_prefixed_or_none(verification.chain_start_hash),
        chain_end_hash=_prefixed_or_none(verification.chain_end_hash),
        payloads_erased=verification.payloads_erased,
        fault=None
        if fault is None
        else FaultAnswer(seq=fault.seq, event_id=fault.event_id, reason=fault.reason.value, message=fault.message),
    )


def prefixed(digest: bytes) -> str:
    """As the specification writes hash values."""
    return f"sha256:{digest.hex()}"


def _prefixed_or_none(digest: bytes | None) -> str | None:
    return None if digest is None else prefixed(digest)


def _actor(actor: Actor | None) -> ActorAnswer | None:
    return None if actor is None else ActorAnswer(type=actor.type.value, id=actor.id, name=actor.name)
