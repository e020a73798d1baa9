"""How executions are limited, and what a claim says. Frozen types; limits are parsed from their document."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from headgate.kernel.backoff import Backoff
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.kernel.whole_numbers import whole_number
from headgate.queue.model import Job

EXECUTE: Final = Job(
    "action.execute",
    queue="executions",
    # Of the job, not of the call: what keeps it from being claimed or settled (the database is away, a worker is
    # killed). How often a call is made is ExecutionLimits' to say.
    backoff=Backoff(first_seconds=1, cap_seconds=60, most_attempts=8),
)

RETRY_AFTER_MAX_SECONDS: Final = 3600.0
"""A destination that asks for a longer pause is not waited for: a person may retry."""


class ExecutionLimits(Struct, frozen=True):
    """Of one organization. ``breaker_failures`` in a row open a destination's breaker for ``breaker_seconds``, twice as
    long each time it fails again. ``timeout_seconds`` is for one attempt, connecting and the whole answer included."""

    most_attempts: int = 3
    first_retry_seconds: int = 2
    last_retry_seconds: int = 120
    timeout_seconds: int = 30
    agent_concurrency: int = 10
    destination_concurrency: int = 10
    destination_per_second: int = 50
    breaker_failures: int = 5
    breaker_seconds: int = 30
    result_max_bytes: int = 64 * 1024

    @property
    def backoff(self) -> Backoff:
        return Backoff(
            first_seconds=self.first_retry_seconds,
            cap_seconds=self.last_retry_seconds,
            most_attempts=self.most_attempts,
        )

    def within(self, concurrency_max: int) -> "ExecutionLimits":
        """Cut to the operator's ceiling, which may be lower than when they were set."""
        return replace(self, **{name: min(getattr(self, name), concurrency_max) for name in _CONCURRENCIES})


LIMITS_MOST: Final[Mapping[str, int]] = {
    "most_attempts": 20,
    "first_retry_seconds": 3600,
    "last_retry_seconds": 86_400,
    "timeout_seconds": 600,
    "agent_concurrency": 10_000,
    "destination_concurrency": 10_000,
    "destination_per_second": 100_000,
    "breaker_failures": 1000,
    "breaker_seconds": 3600,
    "result_max_bytes": 1024 * 1024,
}

DEFAULT_CONCURRENCY_MAX: Final = 64
_CONCURRENCIES: Final = ("agent_concurrency", "destination_concurrency")


def limits_most(concurrency_max: int) -> Mapping[str, int]:
    """What an organization may set under the operator's ceiling of concurrency: without one it could set 10,000, and
    fill its whole share of a worker's places with one agent."""
    return {**LIMITS_MOST, **{name: min(LIMITS_MOST[name], concurrency_max) for name in _CONCURRENCIES}}


def parse_limits(document: JsonValue, most: Mapping[str, int] = LIMITS_MOST) -> ExecutionLimits:
    """The document of ``PUT /admin/settings/executions``; what it leaves out is the default. Raises ValidationError."""
    if not isinstance(document, dict):
        raise ValidationError("executions: an object is expected", details={"field": "", "reason": "not an object"})
    limits: dict[str, int] = {}
    for name, value in document.items():
        if name not in LIMITS_MOST:
            raise _invalid(name[:64], "unknown field")
        limit = whole_number(value)
        if limit is None or not 1 <= limit <= most[name]:
            whose = " (HEADGATE_EXECUTION_CONCURRENCY_MAX: ask the operator for more)" if name in _CONCURRENCIES else ""
            raise _invalid(name, f"must be a whole number from 1 to {most[name]}{whose}")
        limits[name] = limit
    return ExecutionLimits(**limits)


def limits_document(limits: ExecutionLimits) -> JsonObject:
    return asdict(limits)


class ClaimOutcome(StrEnum):
    """``STALE``: the state moved, decide again. ``GONE``: it does not wait any more. ``REFUSED``: its approval is not
    there to be used, or its agent is gone. ``BUSY``: come back in ``wait_seconds``."""

    CLAIMED = "claimed"
    STALE = "stale"
    GONE = "gone"
    REFUSED = "refused"
    BUSY = "busy"


class Claim(Struct, frozen=True):
    """``started_at``: when the attempt that was claimed begins."""

    outcome: ClaimOutcome
    wait_seconds: float
    attempt: int
    started_at: datetime


class AttemptOf(Struct, frozen=True):
    """Whose attempt, and which: its number begins anew where a person gives an execution all its attempts again; when
    it was begun tells it apart from every other."""

    instance_id: str
    started_at: datetime


class Settlement(Struct, frozen=True):
    """How an attempt, or what was never tried, ended. ``again_seconds``: it is tried again after so long.
    ``healthy``: whether the destination was there; None: it was not asked. ``withheld``: what policies about content
    said of an answer that nobody is shown. ``nothing_sent``: certainly not a byte of it left."""

    succeeded: bool
    error: str | None
    result: JsonObject | None
    again_seconds: float | None = None
    healthy: bool | None = None
    withheld: JsonObject | None = None
    nothing_sent: bool = False


def _invalid(field: str, reason: str) -> ValidationError:
    return ValidationError(f"executions.{field}: {reason}", details={"field": field, "reason": reason})
