"""Compares the tables with the audit log, window by window, in constant memory.

Each window is one snapshot, so writers need not pause. This check trusts the events; the chain and the checkpoints
verify that they are the sealed ones.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from msgspec.structs import replace

from headgate.actions.masking import default_masker
from headgate.db.database import Connection
from headgate.kernel.clock import rfc3339
from headgate.kernel.ids import IdPrefix, earliest_id
from headgate.reconciliation.compare import differences
from headgate.reconciliation.model import Difference, Reconciliation, Recorded
from headgate.reconciliation.window_store import (
    STRAYS,
    dropped_ranges,
    load_window,
    missed_entries,
    next_bound,
    strays,
)

MOST_DIFFERENCES: Final = 20
"""The verification ends after this number of differences."""

_SHOWN_CHARACTERS: Final = 200
_MINTED_WITHIN: Final = timedelta(days=1)
"""The largest difference between the time in an action's identifier and its ``created_at``."""

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
    """Compares the actions of a time range (both ends inclusive). Without a range: all actions, and rows without an
    action."""
    found = await missed_entries(connection, org_id, start, end, MOST_DIFFERENCES)
    count, after = 0, _first_id(start)
    last = None if end is None else earliest_id(IdPrefix.ACTION, end, _MINTED_WITHIN)
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
    """The actions whose bodies retention rules dropped; read only if a row claims so."""

    def __init__(self, connection: Connection, org_id: str) -> None:
        self._connection = connection
        self._org_id = org_id
        self._ranges: list[tuple[str, str]] = []

    async def prepare(self, window: Mapping[str, Recorded]) -> None:
        """Reads the drops again if the known ones do not explain a row: a drop may have just happened."""
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
    """Uses the row's time or the event's, so that changing one of them does not remove the action from the range."""
    if start is None and end is None:
        return True
    first, last = ("" if start is None else rfc3339(start)), ("~" if end is None else rfc3339(end))
    times = [event.created_at for _, event in recorded.events if event.event_type == "action.submitted"]
    if recorded.action is not None:
        times.append(recorded.action.created_at)
    return any(first <= one <= last for one in times)


def _first_id(start: datetime | None) -> str:
    return "" if start is None else earliest_id(IdPrefix.ACTION, start, -_MINTED_WITHIN)


def _masked(one: Difference) -> Difference:
    return replace(one, expected=_shown(one.expected), found=_shown(one.found))


def _shown(value: str | None) -> str | None:
    if value is None:
        return None
    text = default_masker().mask_text(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
