"""Rate limits shared by all processes through Valkey; per process where Valkey is gone.

The same decision as ``gcra.decide``, as one script, so that reading and writing are one step and all
processes go by one clock, the server's. Valkey is speed, never truth (semantics.md, "Fresh state"): an error or a
slow answer costs ``_DEADLINE_SECONDS`` once, then this process counts alone for a second before it asks again.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota, Verdict
from headgate.ratelimits.local import LocalLimiter

_log = structlog.get_logger(__name__)

_DEADLINE_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 1.0

# KEYS[1]: the subject. ARGV: emission interval (µs), count. Answers allowed, remaining, reset_at, retry_after.
# Lua numbers are doubles: microseconds since the epoch stay exact until the year 2255 (2^53).
_SCRIPT: Final = """
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, count = tonumber(ARGV[1]), tonumber(ARGV[2])
local arrival = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local next = arrival + interval
local allow_at = next - interval * count
if allow_at > now then
  return {0, 0, string.format('%.0f', arrival), allow_at - now}
end
redis.call('SET', KEYS[1], string.format('%.0f', next), 'PX', math.ceil((next - now) / 1000) + 1)
return {1, math.floor((now - allow_at) / interval), string.format('%.0f', next), 0}
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
        self._local = LocalLimiter(quotas)
        self._monotonic = monotonic
        self._script = None if valkey is None else valkey.register_script(_SCRIPT)
        self._alone_until = 0.0

    async def check(self, rate_class: RateClass, subject: str) -> Verdict | None:
        """Count one request; None where there are no limits."""
        if not self._enabled:
            return None
        if self._script is None or self._monotonic() < self._alone_until:
            return self._local.check(rate_class, subject)
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                return await self._shared(rate_class, subject)
        except (RedisError, OSError, TimeoutError) as error:
            self._alone_until = self._monotonic() + _RETRY_SECONDS
            _log.warning("rate_limits_per_process", error=type(error).__name__)
            return self._local.check(rate_class, subject)

    async def _shared(self, rate_class: RateClass, subject: str) -> Verdict:
        assert self._script is not None  # noqa: S101 - checked by the caller; for the type checker
        quota = self._quotas[rate_class]
        allowed, remaining, reset_at_us, retry_after_us = await self._script(
            keys=[f"headgate:rate:{rate_class}:{subject}"], args=[quota.interval_us, quota.count]
        )
        return Verdict(bool(allowed), quota.count, int(remaining), int(reset_at_us), int(retry_after_us))
