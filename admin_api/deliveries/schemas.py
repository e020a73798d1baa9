"""Deliveries and their attempts, as webhooks and notifications show them."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.deliveries.model import Attempt, Delivery, DeliveryStatus


class AttemptAnswer(BaseModel):
    """``finished_at`` null: under way. ``failure``: status, blocked, unresolved, unreachable, connect_timeout, tls,
    deadline, broken, interrupted (the worker ended) or what the provider's own library said."""

    attempt: int
    started_at: datetime
    finished_at: datetime | None
    succeeded: bool | None
    status_code: int | None
    failure: str | None
    message: str | None
    response_excerpt: str | None = Field(description="The beginning of the response, with secrets masked.")
    latency_ms: float | None


class DeliveryAnswer(BaseModel):
    """``event_id`` is the id of the recorded event, null for a test. ``collected``: waits for a digest. ``told_in``:
    the delivery that contained it."""

    id: str
    target: str
    event: str
    event_id: str | None
    subject_id: str | None
    status: DeliveryStatus
    payload: Any
    created_at: datetime
    next_attempt_at: datetime | None
    give_up_at: datetime
    finished_at: datetime | None
    told_in: str | None
    attempts: list[AttemptAnswer]


def attempt_answer(attempt: Attempt) -> AttemptAnswer:
    return AttemptAnswer(
        attempt=attempt.attempt,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        succeeded=attempt.succeeded,
        status_code=attempt.status_code,
        failure=attempt.failure,
        message=attempt.message,
        response_excerpt=attempt.excerpt,
        latency_ms=attempt.latency_ms,
    )


def delivery_answer(delivery: Delivery, attempts: Sequence[Attempt]) -> DeliveryAnswer:
    return DeliveryAnswer(
        id=delivery.delivery_id,
        target=delivery.target_id,
        event=delivery.event,
        event_id=delivery.event_id,
        subject_id=delivery.subject_id,
        status=delivery.status,
        payload=json.loads(delivery.payload),
        created_at=delivery.created_at,
        next_attempt_at=delivery.next_attempt_at,
        give_up_at=delivery.give_up_at,
        finished_at=delivery.finished_at,
        told_in=delivery.told_in,
        attempts=[attempt_answer(one) for one in attempts],
    )


def delivery_answers(deliveries: Sequence[Delivery], attempts: Mapping[str, Sequence[Attempt]]) -> list[DeliveryAnswer]:
    return [delivery_answer(one, attempts.get(one.delivery_id, ())) for one in deliveries]
