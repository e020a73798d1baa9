"""Limits how many calls wait for people in one process, by agent and by approval.

A call above the limit gets the response of an ended hold: its approval stays open, and the agent retries.
"""

from collections import Counter
from typing import Final

from msgspec import Struct, field

HELD_OF_AGENT_MAX: Final = 128
HELD_OF_APPROVAL_MAX: Final = 32

type AgentKey = tuple[str, str]
"""Organization and agent."""


class HeldCounts(Struct):
    """``most_of_agent``, ``most_of_approval``: None: any number."""

    most_of_agent: int | None = HELD_OF_AGENT_MAX
    most_of_approval: int | None = HELD_OF_APPROVAL_MAX
    _of_agent: Counter[AgentKey] = field(default_factory=Counter)
    _of_approval: Counter[str] = field(default_factory=Counter)

    def has_room(self, agent: AgentKey, approval_id: str) -> bool:
        return (self.most_of_agent is None or self._of_agent[agent] < self.most_of_agent) and (
            self.most_of_approval is None or self._of_approval[approval_id] < self.most_of_approval
        )

    def add(self, agent: AgentKey, approval_id: str) -> None:
        """Counts one more waiting call, until ``remove``."""
        self._of_agent[agent] += 1
        self._of_approval[approval_id] += 1

    def remove(self, agent: AgentKey, approval_id: str) -> None:
        _less(self._of_agent, agent)
        _less(self._of_approval, approval_id)


def _less[Key](counts: Counter[Key], key: Key) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
