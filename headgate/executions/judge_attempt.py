"""Whether an attempt succeeded, failed, or is made again. Pure: clock and chance are passed in.

What was not sent may be sent again. What may have arrived is sent again only where the operation is declared
repeatable: a second payment is worse than a failed one. A destination that says that it took nothing (429, or 503 with
Retry-After; RFC 9110, section 10.2.3, and RFC 6585, section 4) is believed.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.executions.model import RETRY_AFTER_MAX_SECONDS, ExecutionLimits, Settlement
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.retry_after import seconds_until
from headgate.outgoing.model import OutgoingError, OutgoingFailure, OutgoingResponse

_TRANSIENT: Final = frozenset({408, 425, 500, 502, 503, 504})
_FINAL_FAILURES: Final = frozenset({OutgoingFailure.INVALID_REQUEST, OutgoingFailure.BLOCKED})
_UNKNOWN: Final = "outcome unknown: {reason}, after the call may have arrived; it is not sent again by itself"


class Attempt(Struct, frozen=True):
    """``attempt`` counts from 1. ``chance`` in [0, 1)."""

    attempt: int
    repeatable: bool
    is_expected: Callable[[int], bool]
    chance: float
    now: datetime


def judge_response(
    attempt: Attempt,
    response: OutgoingResponse,
    result: JsonObject,
    limits: ExecutionLimits,
    *,
    failure_in_body: str | None = None,
) -> Settlement:
    """A complete answer. What its body says counts where its status is one of success; it is not sent again then:
    the destination has looked at it and has answered."""
    status = response.status
    healthy = status < 500
    if attempt.is_expected(status):
        return Settlement(failure_in_body is None, failure_in_body, result, healthy=healthy)
    error = f"the destination answered {status}"
    asked = response.header("retry-after")
    took_nothing = status == 429 or (status == 503 and asked is not None)
    if took_nothing or (attempt.repeatable and status in _TRANSIENT):
        wait = limits.backoff.wait_seconds(attempt.attempt, attempt.chance)
        pause = None if asked is None else seconds_until(asked, attempt.now)
        if wait is not None and (pause is None or pause <= RETRY_AFTER_MAX_SECONDS):
            return Settlement(False, error, result, again_seconds=max(wait, pause or 0.0), healthy=healthy)
        if wait is not None:
            error += f" and asked for a pause of {pause:.0f} s, longer than is waited for"
    return Settlement(False, error, result, healthy=healthy)


def judge_failure(attempt: Attempt, error: OutgoingError, limits: ExecutionLimits) -> Settlement:
    """No complete answer."""
    if error.failure in _FINAL_FAILURES:
        return Settlement(False, f"not sent: {error.message}", None, nothing_sent=not error.may_have_been_sent)
    if error.may_have_been_sent and not attempt.repeatable:
        return Settlement(False, _UNKNOWN.format(reason=error.message), None, healthy=False)
    wait = limits.backoff.wait_seconds(attempt.attempt, attempt.chance)
    said = error.message if error.may_have_been_sent else f"not sent: {error.message}"
    return Settlement(False, said, None, again_seconds=wait, healthy=False, nothing_sent=not error.may_have_been_sent)
