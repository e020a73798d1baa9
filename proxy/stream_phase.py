"""How far the request of a stream is, and which steps there are. Other than by one of these, nothing leaves
``COLLECTING``, which is mitmproxy's own way.

    COLLECTING --> LOOKING --> FORWARDING
         |            |            |
         +------------+------------+--> LINGERING
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Phase(Enum):
    """``COLLECTING``: the request is collected to its end, decided and forwarded.
    ``LOOKING``: as ``COLLECTING``, and the proxy looks whether the client waits for an answer before that end.
    ``FORWARDING``: it waits. The call is forwarded without its end, and later messages are decided as they come.
    ``LINGERING``: the client has its answer before the end of its request. What still comes is dropped."""

    COLLECTING = "collecting"
    LOOKING = "looking"
    FORWARDING = "forwarding"
    LINGERING = "lingering"


STEPS: Final[Mapping[Phase, frozenset[Phase]]] = {
    Phase.COLLECTING: frozenset({Phase.LOOKING, Phase.LINGERING}),
    Phase.LOOKING: frozenset({Phase.FORWARDING, Phase.LINGERING}),
    Phase.FORWARDING: frozenset({Phase.LINGERING}),
    Phase.LINGERING: frozenset(),
}


def step(before: Phase, after: Phase) -> Phase:
    """``after``. Raises RuntimeError where no such step exists."""
    if after not in STEPS[before]:
        raise RuntimeError(f"a stream that is {before.value} cannot be {after.value}")
    return after
