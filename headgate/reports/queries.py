"""Figures, and how each is got from the record.

A query is what is counted *and* what is printed beside the figure: the report's reader can ask the same of an export
of the events, or of GET /admin/audit, and nobody can write one thing and count another.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from headgate.reports.run import RunEvent


class Query(Struct, frozen=True):
    """Events of these types (``policy.*``: all of a subject's; none: all events) whose members have one of these
    values; a path is ``data.decision`` or ``actor.type``. With ``summed`` the member's value is added up instead."""

    types: tuple[str, ...] = ()
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    given: tuple[str, ...] = ()
    """Members that must be there and not be null or empty."""
    summed: str | None = None

    @property
    def text(self) -> str:
        """As it is printed."""
        conditions: list[str] = []
        if self.types:
            several = len(self.types) > 1 or self.types[0].endswith("*")
            conditions.append(
                f"event_type in ({', '.join(self.types)})" if several else f"event_type = {self.types[0]}"
            )
        for path, values in self.where:
            quoted = [json.dumps(value) for value in values]
            conditions.append(f"{path} = {quoted[0]}" if len(quoted) == 1 else f"{path} in ({', '.join(quoted)})")
        conditions += [f"{path} is given" for path in self.given]
        what = "count" if self.summed is None else f"sum({self.summed})"
        return f"{what} where {' and '.join(conditions)}" if conditions else f"{what} of all events"

    def value(self, event: RunEvent) -> int:
        """What this event adds; its type is known to be one of those wanted."""
        for path, values in self.where:
            if _member(event, path) not in values:
                return 0
        if any(_member(event, path) in (None, "", [], {}) for path in self.given):
            return 0
        if self.summed is None:
            return 1
        added = _member(event, self.summed)
        return added if isinstance(added, int) else 0


def _member(event: RunEvent, path: str) -> Any:
    owner, _, name = path.partition(".")
    if owner == "actor":
        return {"type": event.actor_type, "id": event.actor_id, "name": event.actor_name}[name]
    if not name:
        return {"action_id": event.action_id, "agent_id": event.agent_id}[owner]
    return event.data.get(name)


class Counter:
    """Counts these queries while the run goes by."""

    def __init__(self, queries: Mapping[str, Query]) -> None:
        self.queries = queries
        self.counts = dict.fromkeys(queries, 0)
        self._by_type: dict[str, list[tuple[str, Query]]] = {}

    def add(self, event: RunEvent) -> None:
        wanted = self._by_type.get(event.event_type)
        if wanted is None:
            wanted = [(name, one) for name, one in self.queries.items() if wants(one, event.event_type)]
            self._by_type[event.event_type] = wanted
        for name, query in wanted:
            self.counts[name] += query.value(event)


def wants(query: Query, event_type: str) -> bool:
    """Whether it counts among events of this type."""
    subject = event_type.partition(".")[0]
    return not query.types or event_type in query.types or f"{subject}.*" in query.types


_MOST_KEYS: Final = 10_000
OTHERS: Final = "(others)"


class Groups(Struct):
    """Counts by a name and a kind, in bounded memory: names beyond the first 10,000 are counted together."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, name: str, kind: str, count: int = 1) -> None:
        if name not in self.counts and len(self.counts) >= _MOST_KEYS:
            name = OTHERS
        kinds = self.counts.setdefault(name, defaultdict(int))
        kinds[kind] += count

    def total(self, name: str) -> int:
        return sum(self.counts.get(name, {}).values())

    def top(self, most: int, kind: str | None = None) -> list[tuple[str, Mapping[str, int]]]:
        """The largest first; of equals, by name."""

        def size(entry: tuple[str, Mapping[str, int]]) -> int:
            return sum(entry[1].values()) if kind is None else entry[1].get(kind, 0)

        ordered = sorted(self.counts.items(), key=lambda one: (-size(one), one[0]))
        return [one for one in ordered[:most] if size(one)]
