"""A delivery, its states and its attempts."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.audit.change import Change
from headgate.kernel.errors import ConflictError
from headgate.kernel.ids import IdPrefix, new_id

GIVE_UP_AFTER: Final = timedelta(hours=24)
EXCERPT_MAX_CHARACTERS: Final = 2000
INTERRUPTED: Final = "interrupted"
"""The failure of an attempt whose worker ended before it could write down how it went."""


class TargetKind(StrEnum):
    WEBHOOK = "webhook"
    CHANNEL = "channel"
    INTEGRATION = "integration"


class DeliveryStatus(StrEnum):
    """``collected`` waits for the digest that will carry it; ``parked`` is not tried again unless somebody asks."""

    PENDING = "pending"
    COLLECTED = "collected"
    DELIVERED = "delivered"
    PARKED = "parked"
    CANCELLED = "cancelled"


_AGAIN: Final = frozenset({DeliveryStatus.PENDING})
TRANSITIONS: Final[Mapping[DeliveryStatus, frozenset[DeliveryStatus]]] = MappingProxyType(
    {
        DeliveryStatus.PENDING: frozenset({DeliveryStatus.DELIVERED, DeliveryStatus.PARKED, DeliveryStatus.CANCELLED}),
        DeliveryStatus.COLLECTED: frozenset(
            {DeliveryStatus.DELIVERED, DeliveryStatus.PENDING, DeliveryStatus.CANCELLED}
        ),
        # Only by a person who asks for it again.
        DeliveryStatus.DELIVERED: _AGAIN,
        DeliveryStatus.PARKED: _AGAIN,
        DeliveryStatus.CANCELLED: _AGAIN,
    }
)


class Delivery(Struct, frozen=True):
    """``payload`` is what is sent, to the byte; ``event_id`` None: a test."""

    org_id: str
    delivery_id: str
    target_kind: TargetKind
    target_id: str
    event_id: str | None
    event: str
    subject_id: str | None
    payload: str
    status: DeliveryStatus
    attempts: int
    created_at: datetime
    give_up_at: datetime
    next_attempt_at: datetime | None = None
    finished_at: datetime | None = None
    reference: str | None = None
    told_in: str | None = None


class Attempt(Struct, frozen=True):
    """``finished_at`` None: under way. ``status_code`` is the receiver's, where it answered with one."""

    attempt: int
    started_at: datetime
    finished_at: datetime | None
    succeeded: bool | None
    status_code: int | None
    failure: str | None
    message: str | None
    excerpt: str | None
    latency_ms: float | None


class SendResult(Struct, frozen=True):
    """How one attempt went. ``is_final``: trying again is of no use. ``reference``: what the receiver calls it."""

    succeeded: bool
    status_code: int | None = None
    failure: str | None = None
    message: str | None = None
    excerpt: str | None = None
    latency_ms: float | None = None
    retry_after_seconds: float | None = None
    is_final: bool = False
    reference: str | None = None


def fresh_delivery(
    change: Change,
    kind: TargetKind,
    target_id: str,
    event: str,
    payload: str,
    *,
    event_id: str | None = None,
    subject_id: str | None = None,
    status: DeliveryStatus = DeliveryStatus.PENDING,
    delivery_id: str | None = None,
) -> Delivery:
    """Due at once where it is pending, and tried for a day."""
    return Delivery(
        org_id=change.org_id,
        delivery_id=delivery_id or new_id(IdPrefix.DELIVERY),
        target_kind=kind,
        target_id=target_id,
        event_id=event_id,
        event=event,
        subject_id=subject_id,
        payload=payload,
        status=status,
        attempts=0,
        created_at=change.at,
        give_up_at=change.at + GIVE_UP_AFTER,
        next_attempt_at=change.at if status is DeliveryStatus.PENDING else None,
    )


def require_move(current: DeliveryStatus, target: DeliveryStatus) -> None:
    """Raises ConflictError."""
    if target not in TRANSITIONS[current]:
        raise ConflictError(
            f"the delivery is {current}: only a delivery that has ended can be sent again",
            details={"status": current.value},
        )
