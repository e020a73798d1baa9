"""Holding the tables against the record, a window at a time: constant memory, whatever has been recorded.

Read as they stand in one moment each, windows need no pause of those who record. The events are believed here; whether
they are what was sealed is what the chain and the checkpoints say.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from headgate.actions.masking import default_masker
from headgate.db.database import Connection
from headgate.kernel.clock import rfc3339
from headgate.reconciliation.compare import differences
from headgate.reconciliation.model import Difference, Reconciliation, Recorded
from headgate.reconciliation.window_store import STRAYS, dropped_ranges, load_window, next_bound, strays

MOST_DIFFERENCES: Final = 20
"""The verification ends after this number of differences."""

_SHOWN_CHARACTERS: Final = 200
_MINTED_WITHIN: Final = timedelta(days=1)
"""How far the time in an action's identifier may be from its ``created_at``."""

type Progress = Callable[[int], None]


def _no_progress(actions: int) -> None:
    """The default progress callback: does nothing."""


async def reconcile(
    connection: Connection,
    org_id: str,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Progress = _no_progress,
) -> Reconciliation:
    """The actions of a range of time (both ends inclusive; without one, all, and what no action leads to)."""
    found: list[Difference] = []
    count, after = 0, _first_id(start)
    last = None if end is None else _id_at(end + _MINTED_WITHIN)
    dropped = _Dropped(connection, org_id)
    while True:
        upper = await next_bound(connection, org_id, after)
        window = await load_window(connection, org_id, after, upper)
        await dropped.prepare(window)
        wanted = {key: one for key, one in window.items() if _is_within(one, start, end)}
        found += await asyncio.to_thread(_compared, wanted, dropped)
        count += len(wanted)
        progress(len(wanted))
        if upper is None or len(found) >= MOST_DIFFERENCES or (last is not None and upper > last):
            break
        after = upper
    if start is None and end is None:
        for table in STRAYS:
            found += await _strays(connection, org_id, table, MOST_DIFFERENCES - len(found))
    return Reconciliation(count, tuple(_masked(one) for one in found[:MOST_DIFFERENCES]))


class _Dropped:
    """Which actions' bodies the organization's rules dropped; read only where one says so."""

    def __init__(self, connection: Connection, org_id: str) -> None:
        self._connection = connection
        self._org_id = org_id
        self._ranges: list[tuple[str, str]] = []

    async def prepare(self, window: Mapping[str, Recorded]) -> None:
        """Read anew where those that are known do not explain a row: it may have been dropped a moment ago."""
        said = [key for key, one in window.items() if one.action is not None and one.action.body_state == "dropped"]
        if not all(self(one) for one in said):
            self._ranges = await dropped_ranges(self._connection, self._org_id)

    def __call__(self, action_id: str) -> bool:
        return any(first <= action_id <= last for first, last in self._ranges)


def _compared(window: Mapping[str, Recorded], dropped: _Dropped) -> list[Difference]:
    each = (one for key in sorted(window) for one in differences(key, window[key], dropped))
    return list(islice(each, MOST_DIFFERENCES))


async def _strays(connection: Connection, org_id: str, table: str, most: int) -> list[Difference]:
    found: list[Difference] = []
    after: str | None = ""
    while after is not None and len(found) < most:
        some, after = await strays(connection, org_id, table, after, most)
        found += [Difference(table, one, None, None, "a row") for one in some]
    return found


def _is_within(recorded: Recorded, start: datetime | None, end: datetime | None) -> bool:
    """By the row's time or by the event's: whoever changes the one does not take the action out of the range."""
    if start is None and end is None:
        return True
    first, last = ("" if start is None else rfc3339(start)), ("~" if end is None else rfc3339(end))
    times = [event.created_at for _, event in recorded.events if event.event_type == "action.submitted"]
    if recorded.action is not None:
        times.append(recorded.action.created_at)
    return any(first <= one <= last for one in times)


def _first_id(start: datetime | None) -> str:
    return "" if start is None else _id_at(start - _MINTED_WITHIN)


def _id_at(moment: datetime) -> str:
    """Where identifiers of that moment begin (UUIDv7: milliseconds since 1970 in front)."""
    milliseconds = f"{max(int(moment.timestamp() * 1000), 0):012x}"
    return f"act_{milliseconds[:8]}-{milliseconds[8:]}"


def _masked(one: Difference) -> Difference:
    return replace(one, expected=_shown(one.expected), found=_shown(one.found))


def _shown(value: str | None) -> str | None:
    if value is None:
        return None
    text = default_masker().mask_text(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
