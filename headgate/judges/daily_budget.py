"""How often a policy may ask a judge in a day (UTC). Counted by each process for itself: it bounds what a runaway
agent costs, and is no bookkeeping."""

from dataclasses import dataclass, field
from datetime import date
from typing import Final

from headgate.kernel.clock import Clock

_POLICIES_MAX: Final = 10_000


@dataclass(slots=True)
class DailyBudgets:
    clock: Clock
    _day: date | None = None
    _spent: dict[str, int] = field(default_factory=dict)

    def spend(self, policy_key: str, limit: int) -> bool:
        """One question more; False where the day's are used up."""
        today = self.clock().date()
        if today != self._day or len(self._spent) > _POLICIES_MAX:
            self._day, self._spent = today, {}
        spent = self._spent.get(policy_key, 0)
        if spent >= limit:
            return False
        self._spent[policy_key] = spent + 1
        return True
