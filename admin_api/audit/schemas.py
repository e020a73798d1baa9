"""Bodies about the record (specification, "Audit event" and "Audit routes")."""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from admin_api.instants import InstantText
from admin_api.schema import BaseModel
from headgate.audit.model import Actor, SealedEvent
from headgate.evidence.event_evidence import EventEvidence
from headgate.evidence.verify_record import RecordVerification
from headgate.kernel.canonical_json import JsonObject
from headgate.reconciliation.model import Difference
from headgate.reconciliation.reconcile import MOST_DIFFERENCES


class EventActorAnswer(BaseModel):
    type: str
    id: str
    name: str | None
    address: str | None = Field(description="The recorded network address of the actor, if any.")


_NO_TIME: Final = "null where neither the row nor the sealed header says a time of our calendar."


class EventAnswer(BaseModel):
    """``actor`` is null and ``data`` is empty if the payload was erased. The hashes are kept."""

    id: str
    event_type: str
    action_id: str | None
    agent_id: str | None
    actor: EventActorAnswer | None
    data: JsonObject
    hash: str
    prev_hash: str = Field(description="Of the first event: the organization's genesis value.")
    created_at: datetime | None = Field(description=_NO_TIME)
    sealed_at: datetime | None = Field(description=_NO_TIME)
    seq: int
    problem: str | None = Field(
        description="Difference between the row and the sealed event. Verify the log for details. Null: none visible."
    )


class ListedEventAnswer(EventAnswer):
    """An event with its call."""

    call: str | None = Field(
        description="Tool and operation of its action (`mail.send`), from the table of actions and not from the event."
    )


class NeighboursAnswer(BaseModel):
    """The previous and next event in the chain. Null at the ends."""

    previous: str | None
    next: str | None


class HashInputAnswer(BaseModel):
    """``hash`` is the SHA-256 of ``header``; its ``payload_digest`` that of ``salt`` (hexadecimal) and ``payload``,
    one after the other; both are null where the payload was erased."""

    header: str
    salt: str | None
    payload: str | None


class InclusionAnswer(BaseModel):
    """Inclusion proof of the event in the signed tree (RFC 6962). The leaf is the hash of the event."""

    index: int
    tree_size: int
    path: list[str] = Field(description="Hashes in base64, from the leaf to the root.")
    checkpoint: str = Field(description="The signed tree head (C2SP signed note).")


class EventDetailAnswer(ListedEventAnswer):
    """One event, with the data to verify it by hand."""

    neighbours: NeighboursAnswer
    hash_input: HashInputAnswer
    proof: InclusionAnswer | None
    proof_missing: str | None = Field(
        description="The reason if there is no proof: usually no checkpoint covers the event yet."
    )


class SchemaEventAnswer(BaseModel):
    """The schema's variant: ``prev_hash`` is null where the chain begins."""

    id: str
    event_type: str
    actor: EventActorAnswer | None
    payload: JsonObject
    hash: str
    prev_hash: str | None
    created_at: datetime | None = Field(description=_NO_TIME)


class CamelEventAnswer(BaseModel):
    """The detailed variant of the schema."""

    id: str
    event_type: str = Field(serialization_alias="eventType")
    entity_type: str = Field(serialization_alias="entityType")
    entity_id: str | None = Field(serialization_alias="entityId")
    actor: EventActorAnswer | None
    metadata: JsonObject
    hash: str
    prev_hash: str = Field(serialization_alias="prevHash")
    created_at: datetime | None = Field(serialization_alias="createdAt", description=_NO_TIME)


class VerifyRequest(BaseModel):
    """POST /admin/audit/verify: the period in which events were sealed, both ends inclusive."""

    model_config = ConfigDict(extra="forbid")

    start_date: InstantText | None = Field(default=None, description="ISO 8601")
    end_date: InstantText | None = Field(default=None, description="ISO 8601")
    checkpoints: list[Annotated[str, Field(max_length=16_384)]] = Field(
        default_factory=list,
        max_length=1_000,
        description="Signed checkpoints that were stored elsewhere. The log must be consistent with them.",
    )


class FaultAnswer(BaseModel):
    """The first event that differs from the sealed one."""

    seq: int
    event_id: str | None
    reason: str
    message: str


class DifferenceAnswer(BaseModel):
    """Where a table does not agree with the events. ``column`` null: the row is there and no event tells of it, or
    the other way round; in the table ``audit_events`` it is the type of a missing event. Secrets are masked."""

    table: str
    id: str
    column: str | None
    expected: str | None
    found: str | None


class RestoreAnswer(BaseModel):
    """A restore from a backup, as the log records it. What was recorded after event ``head_seq`` and before the
    restore is lost."""

    seq: int
    event_id: str
    restored_at: datetime | None
    restored_by: str
    backup_id: str
    head_seq: int = Field(description="Number of the newest event in the backup.")


class VerificationAnswer(BaseModel):
    """Hashes and events are null if nothing was sealed in the period."""

    valid: bool
    events_verified: int
    first_event: str | None
    last_event: str | None
    chain_start_hash: str | None = Field(description="Hash of the first event.")
    chain_end_hash: str | None = Field(description="Hash of the last event.")
    payloads_erased: int
    checkpoints_verified: int = Field(description="Signed checkpoints that the events were compared with.")
    signed_up_to: int | None = Field(description="Number of the last event that a checkpoint covers.")
    fault: FaultAnswer | None
    actions_reconciled: int | None = Field(
        description="Actions whose rows were compared with their events, with approval, votes and executions; null: the"
        " record is broken, so the rows were not compared."
    )
    differences: list[DifferenceAnswer] = Field(description=f"The first {MOST_DIFFERENCES}.")
    restores: list[RestoreAnswer] = Field(
        default_factory=list, description="Restores from backups that the log records, oldest first."
    )


# Where an event's payload names what its subject is; an action's events name it in a column of their own.
_ENTITY_KEY: Final = {
    "approval": "approval_id",
    "execution": "execution_id",
    "response": "execution_id",
    "policy": "policy_id",
    "key": "key_id",
    "signing_key": "key_id",
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
        problem=event.problem,
    )


def listed_event_answer(event: SealedEvent, calls: Mapping[str, str]) -> ListedEventAnswer:
    """``calls``: by the ids of actions."""
    return ListedEventAnswer(**dict(event_answer(event)), call=calls.get(event.action_id or ""))


def event_detail_answer(event: SealedEvent, evidence: EventEvidence, calls: Mapping[str, str]) -> EventDetailAnswer:
    proof = evidence.proof
    return EventDetailAnswer(
        **listed_event_answer(event, calls).model_dump(),
        neighbours=NeighboursAnswer(previous=evidence.previous_id, next=evidence.next_id),
        hash_input=HashInputAnswer(
            header=evidence.header,
            salt=None if evidence.salt is None else evidence.salt.hex(),
            payload=evidence.payload,
        ),
        proof=None
        if proof is None
        else InclusionAnswer(
            index=proof.index,
            tree_size=evidence.tree_size,
            path=[base64.b64encode(one).decode() for one in proof.path],
            checkpoint=proof.checkpoint,
        ),
        proof_missing=evidence.proof_missing,
    )


def schema_event_answer(event: SealedEvent) -> SchemaEventAnswer:
    return SchemaEventAnswer(
        id=event.event_id,
        event_type=event.event_type,
        actor=_actor(event.actor),
        payload=event.data,
        hash=prefixed(event.hash),
        prev_hash=None if event.seq == 1 else prefixed(event.prev_hash),
        created_at=event.created_at,
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


def verification_answer(found: RecordVerification) -> VerificationAnswer:
    verification = found.chain
    fault = verification.fault
    return VerificationAnswer(
        valid=verification.valid,
        events_verified=verification.events_verified,
        first_event=verification.first_event,
        last_event=verification.last_event,
        chain_start_hash=_prefixed_or_none(verification.chain_start_hash),
        chain_end_hash=_prefixed_or_none(verification.chain_end_hash),
        payloads_erased=verification.payloads_erased,
        checkpoints_verified=found.checkpoints_verified,
        signed_up_to=found.signed_up_to,
        fault=None
        if fault is None
        else FaultAnswer(seq=fault.seq, event_id=fault.event_id, reason=fault.reason.value, message=fault.message),
        actions_reconciled=None if found.tables is None else found.tables.actions,
        differences=[] if found.tables is None else [_difference(one) for one in found.tables.differences],
        restores=[
            RestoreAnswer(
                seq=one.seq,
                event_id=one.event_id,
                restored_at=one.at,
                restored_by=one.restored_by,
                backup_id=one.backup_id,
                head_seq=one.head_seq,
            )
            for one in found.restores
        ],
    )


def _difference(one: Difference) -> DifferenceAnswer:
    return DifferenceAnswer(table=one.table, id=one.row_id, column=one.column, expected=one.expected, found=one.found)


def prefixed(digest: bytes) -> str:
    """As the specification writes hash values."""
    return f"sha256:{digest.hex()}"


def _prefixed_or_none(digest: bytes | None) -> str | None:
    return None if digest is None else prefixed(digest)


def _actor(actor: Actor | None) -> EventActorAnswer | None:
    if actor is None:
        return None
    return EventActorAnswer(type=actor.type.value, id=actor.id, name=actor.name, address=actor.address)
