"""Which tags the events of a round give to actions. Pure.

A decision (``nlp``) and how an execution ended (``result.inspection.nlp``) have an entry for each content policy that
ran; an entry's ``tags`` are the kinds of what a policy with ``on_match: tag`` found.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from headgate.audit.model import EventType
from headgate.db.arrays import NULL, element, text_of
from headgate.journal.round import EventEntry

_HAS_TAGS: Final = b'"tags":["'
"""No text within a payload holds this: its quotation marks are escaped."""
_TAG: Final = re.compile(r"[a-z0-9_]{1,64}")
_DECIDED: Final = element(EventType.DECISION_MADE.value)
_ENDED: Final = frozenset(
    element(one.value)
    for one in (EventType.EXECUTION_COMPLETED, EventType.EXECUTION_FAILED, EventType.EXECUTION_RESCHEDULED)
)


def tags_of(events: Iterable[EventEntry]) -> list[tuple[str, str]]:
    """Pairs of action and tag, each once, in one order. Raises nothing: a label is no reason to set an event aside."""
    found = {
        (text_of(event.action_id), tag)
        for event in events
        if _HAS_TAGS in event.payload and event.action_id != NULL
        for tag in _tags_in(event)
    }
    return sorted(found)


def _tags_in(event: EventEntry) -> Iterator[str]:
    try:
        entries = _entries(event)
        tags = [tag for entry in entries for tag in entry.get("tags", ())]
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    yield from (tag for tag in tags if isinstance(tag, str) and _TAG.fullmatch(tag))


def _entries(event: EventEntry) -> Any:
    """Raises what a payload of another form raises."""
    if event.event_type == _DECIDED:
        return json.loads(text_of(event.payload))["data"]["nlp"]
    if event.event_type in _ENDED:
        return json.loads(text_of(event.payload))["data"]["result"]["inspection"]["nlp"]
    return ()
