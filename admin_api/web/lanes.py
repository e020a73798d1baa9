"""The four status lanes: counts of calls over time."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from admin_api.overview.routes import Period
from admin_api.overview.schemas import OverviewAnswer
from admin_api.web.chart import Bars, bars

_STEPS: Final = {Period.HOUR: "/min", Period.DAY: " in 30 min", Period.WEEK: " in 4 h", Period.MONTH: "/day"}
_LANES: Final = (
    ("allowed", "Allowed", "decision:allow"),
    ("held", "Held", "decision:hold"),
    ("denied", "Denied", "decision:deny"),
    ("failed", "Failed", "status:failed"),
)


class Lane(Struct, frozen=True):
    """``q`` is the filter of /activity that finds its calls. ``step``: what a bar stands for."""

    kind: str
    word: str
    q: str
    total: int
    bars: Bars
    step: str


def lanes_of(found: OverviewAnswer, period: Period) -> Sequence[Lane]:
    return [
        Lane(
            kind,
            word,
            q,
            getattr(found.total, kind),
            bars([getattr(one, kind) for one in found.steps]),
            _STEPS[period],
        )
        for kind, word, q in _LANES
    ]
