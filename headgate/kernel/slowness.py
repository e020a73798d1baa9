"""Tracks agents whose recent calls were slow, so that a thread handles their next calls."""

from typing import Final

SLOW_MILLISECONDS: Final = 2.0
"""Of the processor, for one step of one call, on an average."""
TOLERATED_MILLISECONDS: Final = 10.0
"""Beyond that, of an agent's calls together. One that is slow by chance (on a busy machine) does not send the next
thirty into a thread, which costs more than they do."""
_OWED_MILLISECONDS_MAX: Final = 60.0
"""Paid back by thirty fast calls."""
_AGENTS_MAX: Final = 4096


class Slowness:
    """What each agent's calls took beyond the average that they may take: a leaky bucket. Agents whose calls are fast
    have no entry."""

    def __init__(self) -> None:
        self._owed: dict[str, float] = {}

    def expects(self, agent_id: str) -> bool:
        """Whether this agent's next call is likely to be slow."""
        return self._owed.get(agent_id, 0.0) > TOLERATED_MILLISECONDS

    def note(self, agent_id: str, milliseconds: float) -> None:
        """What a call took."""
        before = self._owed.pop(agent_id, 0.0)
        owed = min(before + milliseconds - SLOW_MILLISECONDS, _OWED_MILLISECONDS_MAX)
        if owed <= 0.0:
            return
        if len(self._owed) >= _AGENTS_MAX:
            del self._owed[next(iter(self._owed))]
        self._owed[agent_id] = owed
