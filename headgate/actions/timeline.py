"""What an agent did and what was done to it, in one line of time: its actions, and events that are no action's.

Both are read by an index of their own and merged, newest first, so that a page costs what it shows. A cursor holds
the last of each that was shown.
"""

import heapq
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.actions.model import Action
from headgate.actions.store import ActionFilter, list_actions
from headgate.audit.model import EventFilter, SealedEvent
from headgate.audit.store import list_events
from headgate.db.database import Connection
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix, id_pattern, parse_id

_SEPARATOR = "."
TIMELINE_CURSOR: Final = rf"^({id_pattern(IdPrefix.ACTION).strip('^$')})?\.[0-9]{{0,18}}$"
"""The regular expression of a cursor: the last action and the last event that were shown."""


class Moment(Struct, frozen=True):
    """One line: an action, or an event."""

    at: datetime
    entry: Action | SealedEvent


class Timeline(Struct, frozen=True):
    """``next_cursor`` None: there is nothing older."""

    moments: Sequence[Moment]
    next_cursor: str | None


async def agent_timeline(
    connection: Connection, org_id: str, agent_id: str, *, limit: int, cursor: str | None
) -> Timeline:
    """Newest first. Raises ValidationError for what is no cursor of this list."""
    before_action, before_event = _parse(cursor)
    actions = await list_actions(
        connection, org_id, ActionFilter(agent_id=agent_id), limit=limit + 1, cursor=before_action
    )
    events = await list_events(
        connection, org_id, EventFilter(agent_id=agent_id, without_action=True), limit=limit + 1, cursor=before_event
    )
    merged = list(_merge(actions.actions, events.events))
    shown = merged[:limit]
    for moment in shown:
        if isinstance(moment.entry, Action):
            before_action = moment.entry.action_id
        else:
            before_event = str(moment.entry.seq)
    more = len(merged) > limit
    return Timeline(shown, f"{before_action or ''}{_SEPARATOR}{before_event or ''}" if more else None)


def _merge(actions: Sequence[Action], events: Sequence[SealedEvent]) -> Iterator[Moment]:
    return heapq.merge(
        (Moment(action.created_at, action) for action in actions),
        (Moment(at, event) for event in events if (at := event.created_at or event.sealed_at) is not None),
        key=lambda moment: moment.at,
        reverse=True,
    )


def _parse(cursor: str | None) -> tuple[str | None, str | None]:
    if cursor is None:
        return None, None
    action, separator, event = cursor.partition(_SEPARATOR)
    if not separator:
        raise ValidationError("not a cursor of this list", details={"field": "cursor"})
    return parse_id(IdPrefix.ACTION, action) if action else None, event or None
