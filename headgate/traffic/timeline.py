"""An agent's exchanges as a line of time, with the stretches in which something is missing. Pure."""

import heapq
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from headgate.traffic.model import Kept
from headgate.traffic.store import LossCount


class Step(Struct, frozen=True):
    """An exchange, or what was not captured until then. ``pause_seconds``: since the end of the exchange before."""

    at: datetime
    exchange: Kept | None
    loss: LossCount | None
    pause_seconds: float | None


def timeline_of(newest_first: Sequence[Kept], losses: Sequence[LossCount]) -> list[Step]:
    """Oldest first. Of losses, those that lie in the time between."""
    if not newest_first:
        return []
    # Lists are in the order in which exchanges ended; a line of time is of their beginnings.
    exchanges = sorted(newest_first, key=lambda one: one.created_at)
    start = exchanges[0].created_at
    steps: list[Step] = []
    ended_at: datetime | None = None
    for exchange in exchanges:
        pause = None if ended_at is None else max(0.0, (exchange.created_at - ended_at).total_seconds())
        steps.append(Step(exchange.created_at, exchange, None, None if pause is None else round(pause, 3)))
        duration = (exchange.duration_ms or 0.0) / 1000
        ended = datetime.fromtimestamp(exchange.created_at.timestamp() + duration, exchange.created_at.tzinfo)
        ended_at = ended if ended_at is None else max(ended_at, ended)
    missing = [Step(one.until, None, one, None) for one in sorted(losses, key=lambda one: one.until)]
    return list(heapq.merge(steps, (one for one in missing if one.at >= start), key=lambda step: step.at))
