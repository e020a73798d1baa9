"""How often a policy may ask a judge in a day (UTC): it bounds what a runaway agent costs, and is no bookkeeping.

All processes count together through Valkey, and each remembers how much of the day it knows to be spent. Where Valkey
is gone, each goes on from there by itself; where it has come back without its data, it is told. What cannot be counted
for certain (an answer that came too late) counts as spent: a policy whose questions are used up asks a person.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import date
from typing import Final

import structlog
from msgspec import Struct, field
from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.kernel.clock import Clock

_log = structlog.get_logger(__name__)

_POLICIES_MAX: Final = 10_000
DEADLINE_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 1.0
_KEPT_SECONDS: Final = 48 * 3600

# KEYS[1]: the policy's day. ARGV: how much the caller knows to be spent, the limit, for how long this is kept. Answers
# whether one question more was spent, and how many are.
_SPEND: Final = """
local spent = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), tonumber(ARGV[1]))
if spent >= tonumber(ARGV[2]) then
  return {0, spent}
end
redis.call('SET', KEYS[1], spent + 1, 'EX', ARGV[3])
return {1, spent + 1}
"""


class DailyBudgets(Struct):
    """Of one process. ``valkey`` None: it counts alone."""

    clock: Clock
    valkey: Redis | None = None
    monotonic: Callable[[], float] = time.monotonic
    deadline_seconds: float = DEADLINE_SECONDS
    _day: date | None = None
    _known: dict[str, int] = field(default_factory=dict)
    _alone_until: float = 0.0

    def has_left(self, policy_key: str, limit: int) -> bool:
        """What ``spend`` would answer by what this process knows; nothing is spent."""
        return self.clock().date() != self._day or self._known.get(policy_key, 0) < limit

    async def spend(self, policy_key: str, limit: int) -> bool:
        """One question more; False where the day's are used up."""
        today = self.clock().date()
        if today != self._day or len(self._known) > _POLICIES_MAX:
            self._day, self._known = today, {}
        if self.valkey is None or self.monotonic() < self._alone_until:
            return self._spend_alone(policy_key, limit)
        if not self.has_left(policy_key, limit):
            return False
        try:
            async with asyncio.timeout(self.deadline_seconds):
                may, spent = await self._spend_shared(self.valkey, policy_key, today, limit)
        except (RedisError, OSError, TimeoutError) as error:
            self._alone_until = self.monotonic() + _RETRY_SECONDS
            _log.warning("judge_budgets_per_process", error=type(error).__name__)
            return self._spend_alone(policy_key, limit)
        if today == self._day:
            self._known[policy_key] = max(spent, self._known.get(policy_key, 0))
        return may

    def _spend_alone(self, policy_key: str, limit: int) -> bool:
        known = self._known.get(policy_key, 0)
        if known < limit:
            self._known[policy_key] = known + 1
        return known < limit

    async def _spend_shared(self, valkey: Redis, policy_key: str, day: date, limit: int) -> tuple[bool, int]:
        may, spent = await valkey.register_script(_SPEND)(
            keys=[f"headgate:judge-budget:{day} {policy_key}"],
            args=[self._known.get(policy_key, 0), limit, _KEPT_SECONDS],
        )
        return bool(may), int(spent)
