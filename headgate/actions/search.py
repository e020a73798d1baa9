"""Searching actions by what no index has: their request and their decision.

The newest actions that the indexed conditions leave are looked through, a bounded number of them at once; the answer
says how far back it looked, and where to go on.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.actions.model import Action, ActionStatus
from headgate.actions.store import ActionFilter, newest_actions
from headgate.db.database import Connection, Database
from headgate.kernel.ids import IdPrefix, earliest_id

LOOKED_AT_MAX: Final = 2_000
_AT_ONCE: Final = 200
_ANY: Final = ActionFilter()
_RECORDED_WITHIN: Final = timedelta(minutes=1)
"""Of the making of an action's identifier, clocks of other machines included."""


class ActionSearch(Struct, frozen=True):
    """None means any. ``path`` and ``text`` are parts, in any case of letters; ``text`` is of tool, operation, params
    and request line, of a large request in its beginning (``read_beginning``). ``start`` and ``end`` are inclusive.
    The status ``failed`` finds what ``failed_calls`` says."""

    indexed: ActionFilter = _ANY
    decision: str | None = None
    host: str | None = None
    method: str | None = None
    path: str | None = None
    text: str | None = None
    start: datetime | None = None
    end: datetime | None = None

    @property
    def is_indexed(self) -> bool:
        rest = (self.decision, self.host, self.method, self.path, self.text)
        return all(one is None for one in rest) and self.indexed.status is not ActionStatus.FAILED


class FoundActions(Struct, frozen=True):
    """``next_cursor`` None: there is nothing behind. ``looked_back_to``: the oldest action looked at; None: none."""

    actions: Sequence[Action]
    next_cursor: str | None
    looked_at: int
    looked_back_to: datetime | None


def matches(wanted: ActionSearch, action: Action) -> bool:
    """Whether the action is one of those that are searched, the indexed conditions apart."""
    http = action.request.http or {}
    if wanted.indexed.status is ActionStatus.FAILED and not action.has_failed:
        return False
    if wanted.start is not None and action.created_at < wanted.start:
        return False
    if wanted.end is not None and action.created_at > wanted.end:
        return False
    if wanted.decision is not None and action.decision.decision != wanted.decision:
        return False
    if wanted.host is not None and str(http.get("host", "")).casefold() != wanted.host.casefold():
        return False
    if wanted.method is not None and str(http.get("method", "")).casefold() != wanted.method.casefold():
        return False
    if wanted.path is not None and wanted.path.casefold() not in str(http.get("path", "")).casefold():
        return False
    return wanted.text is None or wanted.text.casefold() in _text_of(action)


def _text_of(action: Action) -> str:
    said = [action.tool, action.operation, action.request.params, action.request.http, action.decision.reason]
    return json.dumps(said, ensure_ascii=False).casefold()


def _within(wanted: ActionSearch) -> ActionFilter:
    """With the identifiers that the range of time can have, so that what lies outside of it is not looked through."""
    return replace(
        wanted.indexed,
        from_id=None if wanted.start is None else earliest_id(IdPrefix.ACTION, wanted.start, -_RECORDED_WITHIN),
        before_id=None if wanted.end is None else earliest_id(IdPrefix.ACTION, wanted.end, _RECORDED_WITHIN),
    )


async def search_actions(
    database: Database, org_id: str, wanted: ActionSearch, *, limit: int, cursor: str | None = None
) -> FoundActions:
    """Newest first, ``limit`` at most. ``cursor``: behind this action's id. Raises UnavailableError."""
    found: list[Action] = []
    looked_at, looked_back_to = 0, None
    indexed = _within(wanted)
    at_once = limit if wanted.is_indexed else _AT_ONCE
    while looked_at < LOOKED_AT_MAX:
        async with database.transaction(org_id) as connection:
            actions = await _newest(connection, org_id, indexed, at_once, cursor)
        for action in actions:
            looked_at += 1
            cursor, looked_back_to = action.action_id, action.created_at
            if matches(wanted, action):
                found.append(action)
            if len(found) == limit:
                return FoundActions(found, cursor, looked_at, looked_back_to)
        if len(actions) < at_once:
            return FoundActions(found, None, looked_at, looked_back_to)
    return FoundActions(found, cursor, looked_at, looked_back_to)


async def _newest(
    connection: Connection, org_id: str, indexed: ActionFilter, limit: int, cursor: str | None
) -> list[Action]:
    """By the index of each status that an action may have."""
    actions = await newest_actions(connection, org_id, indexed, limit=limit, cursor=cursor)
    if indexed.status is not ActionStatus.FAILED:
        return actions
    approved = replace(indexed, status=ActionStatus.APPROVED)
    actions += await newest_actions(connection, org_id, approved, limit=limit, cursor=cursor)
    return sorted(actions, key=lambda one: one.action_id, reverse=True)[:limit]
