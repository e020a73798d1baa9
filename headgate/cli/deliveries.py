"""Deliveries as a terminal shows them, the same for webhooks and notifications: how each went, and one that is waited
for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import click

from headgate.cli.api_client import ApiError
from headgate.cli.tables import safe, show_json

if TYPE_CHECKING:
    from headgate.client.types import AttemptAnswer, DeliveryAnswer

_PAUSE_SECONDS: Final = 0.3


def follow_test(
    read: Callable[[str], DeliveryAnswer], delivery: DeliveryAnswer, wait_seconds: int, *, as_json: bool
) -> None:
    """Waits for a test message and says how it went. ``read``: the delivery with this id, as it is now. Raises
    ApiError if it has not arrived."""
    deadline = time.monotonic() + wait_seconds
    while not _has_ended(delivery) and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
        delivery = read(delivery["id"])
    if as_json:
        show_json(delivery)
    else:
        click.echo(_told(delivery))
    if delivery["status"] != "delivered":
        raise ApiError("the test message was not delivered")


def last_attempt(delivery: DeliveryAnswer) -> str:
    """How it ended, in a word."""
    if not delivery["attempts"]:
        return ""
    attempt = delivery["attempts"][-1]
    return str(attempt["status_code"] or attempt["failure"] or ("ok" if attempt["succeeded"] else "in progress"))


def _has_ended(delivery: DeliveryAnswer) -> bool:
    """After one attempt a person at a terminal has seen enough, though the worker goes on trying."""
    return delivery["status"] != "pending" or any(one["finished_at"] for one in delivery["attempts"])


def _told(delivery: DeliveryAnswer) -> str:
    if not delivery["attempts"]:
        return f"{safe(delivery['id'])}: {safe(delivery['status'])}, not attempted yet (is a worker running?)"
    attempt = delivery["attempts"][-1]
    said = attempt["message"] or _outcome(attempt)
    took = "" if attempt["latency_ms"] is None else f" in {attempt['latency_ms']:.0f} ms"
    return f"{safe(delivery['id'])}: {safe(delivery['status'])}, {safe(said)}{took}"


def _outcome(attempt: AttemptAnswer) -> str:
    if attempt["status_code"] is not None:
        return f"answered {attempt['status_code']}"
    return str(attempt["failure"] or ("accepted" if attempt["succeeded"] else "in progress"))
