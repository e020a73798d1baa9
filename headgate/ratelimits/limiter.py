"""Rate limits shared by all processes through Valkey; per process where Valkey is gone.

The same decision as ``sliding_window.decide``, as one script, so that reading and writing are one step and all
processes go by one clock, the server's. Valkey is speed, never truth (semantics.md, "Fresh state"): an error or a
slow answer costs ``_DEADLINE_SECONDS`` once, then this process counts alone for a second before it asks again.

Each request takes its place in the process's own window first, and Valkey can only refuse it. So a switch between
shared and local counting, in either direction, never gives a second quota: one process admits at most one quota in any
window.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal

import structlog
from msgspec.structs import replace
from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota, Verdict
from headgate.ratelimits.local import wall_clock_us
from headgate.ratelimits.local_window import LocalWindows

_log = structlog.get_logger(__name__)

_DEADLINE_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 1.0

# KEYS[1]: the subject's list, the moments of what was let through, oldest first. ARGV: period (µs), count. Answers
# allowed, remaining, reset_at, retry_after. Lua numbers are doubles: microseconds since the epoch stay exact until the
# year 2255 (2^53).
_SCRIPT: Final = """
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local period, count = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = redis.call('LLEN', KEYS[1])
while kept > 0 and tonumber(redis.call('LINDEX', KEYS[1], 0)) <= now - period do
  redis.call('LPOP', KEYS[1])
  kept = kept - 1
end
if kept >= count then
  local leaves = tonumber(redis.call('LINDEX', KEYS[1], kept - count)) + period
  local reset = tonumber(redis.call('LINDEX', KEYS[1], -1)) + period
  return {0, 0, string.format('%.0f', reset), leaves - now}
end
redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(period / 1000))
return {1, count - kept - 1, string.format('%.0f', now + period), 0}
"""


class RateLimiter:
    """One request, one verdict. ``valkey`` None: this process alone. ``enabled`` False: no limits at all."""

    def __init__(
        self,
        valkey: Redis | None,
        *,
        quotas: Mapping[RateClass, Quota] = DEFAULT_QUOTAS,
        enabled: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quotas = quotas
        self._enabled = enabled
        self._local = LocalWindows(quotas)
        self._monotonic = monotonic
        self._script = None if valkey is None else valkey.register_script(_SCRIPT)
        self._alone_until = 0.0

    @property
    def mode(self) -> Literal["shared", "per process", "off"]:
        """Who counts at this moment."""
        if not self._enabled:
            return "off"
        return "per process" if self._script is None or self._monotonic() < self._alone_until else "shared"

    async def check(self, rate_class: RateClass, subject: str, quota: Quota | None = None) -> Verdict | None:
        """Count one request; None where there are no limits. ``quota``: the subject's own instead of its class'."""
        if not self._enabled:
            return None
        own = self._local.check(rate_class, subject, quota)
        if not own.allowed or self._script is None or self._monotonic() < self._alone_until:
            return own
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                shared = await self._shared(rate_class, subject, quota or self._quotas[rate_class])
        except (RedisError, OSError, TimeoutError) as error:
            self._alone_until = self._monotonic() + _RETRY_SECONDS
            _log.warning("rate_limits_per_process", error=type(error).__name__)
            return own
        self._local.settle(rate_class, subject, own, allowed=shared.allowed, quota=quota)
        return replace(shared, remaining=min(shared.remaining, own.remaining))

    def untouched(self, rate_class: RateClass) -> Verdict | None:
        """What somebody who was not counted is told: the whole quota of the class; None where there are no limits."""
        if not self._enabled:
            return None
        quota = self._quotas[rate_class]
        return Verdict(True, quota.count, quota.count, wall_clock_us(), 0)

    async def _shared(self, rate_class: RateClass, subject: str, quota: Quota) -> Verdict:
        assert self._script is not None  # noqa: S101 - checked by the caller; for the type checker
        allowed, remaining, reset_at_us, retry_after_us = await self._script(
            keys=[f"headgate:window:{rate_class}:{subject}"], args=[quota.period_us, quota.count]
        )
        return Verdict(bool(allowed), quota.count, int(remaining), int(reset_at_us), int(retry_after_us))
