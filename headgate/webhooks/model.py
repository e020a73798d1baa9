"""Endpoints, the events that they may subscribe to, and when one is given up."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.audit.model import EventType
from headgate.kernel.errors import ValidationError
from headgate.outgoing.target import parse_target

MAX_ENDPOINTS: Final = 50
MAX_OVERLAP: Final = timedelta(days=30)
DISABLE_AFTER: Final = timedelta(days=3)
"""An endpoint at which nothing but failures arrived for so long is disabled; its owner is told."""
_URL_MAX: Final = 2048


class WebhookEvent(StrEnum):
    """The specification's five ("Webhook events"), two of executions, and the one that a test sends."""

    APPROVAL_CREATED = "approval.created"
    APPROVAL_APPROVED = "approval.approved"
    APPROVAL_DENIED = "approval.denied"
    APPROVAL_EXPIRED = "approval.expired"
    APPROVAL_ESCALATED = "approval.escalated"
    EXECUTION_COMPLETED = "execution.completed"
    EXECUTION_FAILED = "execution.failed"
    TEST = "webhook.test"


SUBSCRIBABLE: Final = tuple(one for one in WebhookEvent if one is not WebhookEvent.TEST)
DEFAULT_EVENTS: Final = tuple(one for one in SUBSCRIBABLE if one.value.startswith("approval."))

OF_RECORD: Final = {
    "approval.requested": WebhookEvent.APPROVAL_CREATED,
    EventType.APPROVAL_APPROVED.value: WebhookEvent.APPROVAL_APPROVED,
    EventType.APPROVAL_DENIED.value: WebhookEvent.APPROVAL_DENIED,
    EventType.APPROVAL_EXPIRED.value: WebhookEvent.APPROVAL_EXPIRED,
    # It gave way to one that asks for more: for whoever waits for its end that is one.
    EventType.APPROVAL_SUPERSEDED.value: WebhookEvent.APPROVAL_EXPIRED,
    "approval.escalated": WebhookEvent.APPROVAL_ESCALATED,
    EventType.EXECUTION_COMPLETED.value: WebhookEvent.EXECUTION_COMPLETED,
    EventType.EXECUTION_FAILED.value: WebhookEvent.EXECUTION_FAILED,
}
"""From the record's event types to those that endpoints know."""


class Endpoint(Struct, frozen=True):
    """``secret_number`` counts rotations; the one before signs as well until ``previous_secret_until``.
    ``failing_since``: the first failure after the last success. ``disabled_reason``: why Headgate disabled it."""

    org_id: str
    endpoint_id: str
    url: str
    description: str | None
    events: tuple[WebhookEvent, ...]
    enabled: bool
    disabled_reason: str | None
    secret_number: int
    previous_secret_until: datetime | None
    failing_since: datetime | None
    created_by: str | None
    created_at: datetime
    updated_at: datetime

    def secret_numbers(self, now: datetime) -> tuple[int, ...]:
        """Which secrets sign now, the newest first."""
        if self.previous_secret_until is not None and now < self.previous_secret_until:
            return self.secret_number, self.secret_number - 1
        return (self.secret_number,)


def vault_name(endpoint_id: str, number: int) -> str:
    return f"webhook/{endpoint_id}/{number}"


def should_disable(failing_since: datetime | None, now: datetime) -> bool:
    return failing_since is not None and now - failing_since >= DISABLE_AFTER


def parse_events(names: Iterable[str]) -> tuple[WebhookEvent, ...]:
    """Raises ValidationError."""
    known = {one.value: one for one in SUBSCRIBABLE}
    wanted = list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise ValidationError(
            f"events: {'unknown: ' + ', '.join(unknown)[:200] if unknown else 'at least one is needed'};"
            f" known: {', '.join(known)}",
            details={"field": "events", "reason": "unknown or empty", "known": list(known)},
        )
    return tuple(known[name] for name in wanted)


def check_url(url: str) -> str:
    """Whether messages could go there at all; which addresses are permitted is judged at each attempt.

    Raises ValidationError.
    """
    if len(url) > _URL_MAX:
        raise ValidationError(f"url: at most {_URL_MAX} characters", details={"field": "url", "reason": "too long"})
    parse_target(url)
    return url
