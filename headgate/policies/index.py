"""Selects the policies to evaluate for a call.

Conditions are evaluated once for each kind of call (tool, operation, host, method) and cached, because agents repeat
the same kinds of calls.
"""

from collections.abc import Callable, Sequence
from typing import Final

from headgate.policies.formula import CallKey, Formula

_REMEMBERED_MAX: Final = 4_096


class PolicyIndex[Entry]:
    """Groups of entries, each with the condition under which it must be evaluated; order is kept."""

    def __init__(self, groups: Sequence[Sequence[Entry]], condition: Callable[[Entry], Formula]) -> None:
        self._groups = [[(entry, condition(entry)) for entry in group] for group in groups]
        self._remembered: dict[CallKey, tuple[tuple[Entry, ...], ...]] = {}

    def candidates(self, call: CallKey) -> tuple[tuple[Entry, ...], ...]:
        """The entries that could decide the call, by group; empty groups are omitted."""
        found = self._remembered.get(call)
        if found is None:
            kept = (tuple(entry for entry, condition in group if condition.holds(call)) for group in self._groups)
            found = tuple(group for group in kept if group)
            # The agent chooses the host, so the cache is bounded: endless new hosts must not fill the memory.
            if len(self._remembered) >= _REMEMBERED_MAX:
                self._remembered.clear()
            self._remembered[call] = found
        return found
