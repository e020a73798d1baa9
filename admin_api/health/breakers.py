"""Circuit breakers, whoever keeps them: the interface by which /health/circuit-breakers lists them."""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from headgate.judges.breaker import BreakerState
from headgate.judges.judge import Judges


class BreakerKind(StrEnum):
    """What is left alone while one is open."""

    JUDGE = "judge"
    DESTINATION = "destination"


class ListedBreaker(Struct, frozen=True):
    """``org_id`` None: nobody's in particular. ``name`` is only for that organization's administrators."""

    kind: BreakerKind
    org_id: str | None
    name: str
    state: BreakerState


type BreakerSource = Callable[[], Awaitable[Sequence[ListedBreaker]]]
"""Every breaker that a part keeps, of all organizations. Raises UnavailableError."""


def judges_breakers(judges: Judges) -> BreakerSource:
    """Those of the language models that this process asks; every process has its own."""

    async def listed() -> Sequence[ListedBreaker]:
        return [
            ListedBreaker(BreakerKind.JUDGE, lane.org_id, lane.provider, state) for lane, state in judges.breakers()
        ]

    return listed
