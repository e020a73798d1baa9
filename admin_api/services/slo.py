"""Service level objectives, and how fast their error budgets burn. Pure: counts in, states out.

A burn rate is the share of bad events in a window divided by the share that the objective allows: at 1 the budget of
its period is used up exactly at the period's end. An alert needs a long window, which says that it matters, and a
short one, which says that it still goes on: 14.4 over an hour and five minutes, 6 over six hours and thirty minutes
(Google, "The Site Reliability Workbook", chapter 5, "Multiwindow, Multi-Burn-Rate Alerts").
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

WINDOWS_SECONDS: Final[Mapping[str, int]] = {"5m": 300, "30m": 1800, "1h": 3600, "6h": 21_600}
PERIOD_DAYS: Final = 28


class SloState(StrEnum):
    """``critical``: two percent of the period's budget in an hour. ``warning``: five percent in six hours."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"


class Objective(Struct, frozen=True):
    """``target``: the least share of good events."""

    name: str
    description: str
    target: float


class Counts(Struct, frozen=True):
    """Of one objective, since counting began; they only rise."""

    good: float
    total: float


class Sample(Struct, frozen=True):
    """All objectives' counts at one moment (monotonic seconds)."""

    at: float
    counts: Mapping[str, Counts]


class Burn(Struct, frozen=True):
    """``covered_seconds``: less than the window's length where counting began later."""

    good: float
    total: float
    burn_rate: float
    covered_seconds: float


class SloStatus(Struct, frozen=True):
    objective: Objective
    state: SloState
    burns: Mapping[str, Burn]


def status_of(objective: Objective, samples: Sequence[Sample]) -> SloStatus:
    """``samples`` are in the order of time; at least one."""
    burns = {name: _burn(objective, samples, seconds) for name, seconds in WINDOWS_SECONDS.items()}
    state = SloState.OK
    if burns["1h"].burn_rate >= 14.4 and burns["5m"].burn_rate >= 14.4:
        state = SloState.CRITICAL
    elif burns["6h"].burn_rate >= 6 and burns["30m"].burn_rate >= 6:
        state = SloState.WARNING
    return SloStatus(objective, state, burns)


def _burn(objective: Objective, samples: Sequence[Sample], window_seconds: int) -> Burn:
    last = samples[-1]
    # The newest sample that is as old as the window, or the oldest that there is.
    position = bisect_left(samples, last.at - window_seconds, key=lambda sample: sample.at)
    first = samples[max(0, position - 1) if samples[position].at > last.at - window_seconds else position]
    before = first.counts.get(objective.name, Counts(0, 0))
    after = last.counts.get(objective.name, Counts(0, 0))
    good, total = max(0.0, after.good - before.good), max(0.0, after.total - before.total)
    bad_share = 0.0 if total <= 0 else max(0.0, 1 - good / total)
    return Burn(good, total, bad_share / (1 - objective.target), last.at - first.at)
