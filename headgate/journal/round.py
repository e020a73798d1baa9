"""One round of the applier: computes the rows and events that journal entries produce. Pure.

Fields are elements of PostgreSQL's binary arrays, as the journal has them. Fields that are only stored are not decoded.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct, field

from headgate.actions.model import ActionStatus, ExecutionStatus
from headgate.actions.recorded_entry import ActionEntry, OutcomeEntry
from headgate.audit.model import SYSTEM, EventType, payload_text
from headgate.audit.written_events import AttestedEvent
from headgate.db.arrays import INSTANTS, NULL, element, instant_of, text_of
from headgate.journal.completeness import Missed, MissedEvents
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339


class EventEntry(NamedTuple):
    """One event. A transaction that writes its rows itself appends it alone."""

    event_type: bytes
    action_id: bytes
    agent_id: bytes
    created_at: bytes
    payload: bytes


def missed_event(missed: Missed | MissedEvents, now: datetime) -> EventEntry:
    """The record says of itself that it is not complete."""
    data: JsonObject = {"writer": missed.writer.hex(), "written": missed.written, "applied": missed.applied}
    if isinstance(missed, MissedEvents):
        data["events"] = [_told(event) for event in missed.events[:_TOLD_EVENTS_MAX]]
    return EventEntry(_MISSED, NULL, NULL, INSTANTS.element(now), element(payload_text(SYSTEM, data)))


def _told(event: AttestedEvent) -> JsonObject:
    return {
        "action_id": None if event.action_id == NULL else text_of(event.action_id),
        "created_at": rfc3339(instant_of(event.created_at)),
        "event_type": text_of(event.event_type),
    }


type Entry = EventEntry | ActionEntry | OutcomeEntry


class NewAction(NamedTuple):
    """A row of ``actions``, in its state at the end of the round."""

    action_id: bytes
    agent_id: bytes
    key_id: bytes
    source: bytes
    tool: bytes
    operation: bytes
    status: bytes
    digest: bytes
    request: bytes
    decision: bytes
    risk_level: bytes
    parent_action_id: bytes
    created_at: bytes
    updated_at: bytes


class NewExecution(NamedTuple):
    """A row of ``executions``, in its state at the end of the round."""

    execution_id: bytes
    action_id: bytes
    instance_id: bytes
    status: bytes
    started_at: bytes
    completed_at: bytes
    error: bytes
    result: bytes


class Round(Struct):
    """The rows to write: new actions and executions, and all events in the order of the journal."""

    actions: list[NewAction] = field(default_factory=list)
    executions: list[NewExecution] = field(default_factory=list)
    events: list[EventEntry] = field(default_factory=list)
    ended: list[OutcomeEntry] = field(default_factory=list)
    """The outcomes that count."""


_SUBMITTED, _DECIDED, _STARTED, _COMPLETED, _FAILED, _WITHHELD, _CANARY, _MISSED = (
    element(one.value)
    for one in (
        EventType.ACTION_SUBMITTED,
        EventType.DECISION_MADE,
        EventType.EXECUTION_STARTED,
        EventType.EXECUTION_COMPLETED,
        EventType.EXECUTION_FAILED,
        EventType.RESPONSE_WITHHELD,
        EventType.CANARY_FOUND,
        EventType.JOURNAL_ENTRY_MISSED,
    )
)
_ACTION_ENDED = {True: element(ActionStatus.COMPLETED.value), False: element(ActionStatus.FAILED.value)}
_EXECUTION_ENDED = {True: element(ExecutionStatus.SUCCEEDED.value), False: element(ExecutionStatus.FAILED.value)}
_RUNNING = element(ExecutionStatus.RUNNING.value)
_TOLD_EVENTS_MAX = 20
_TRUE = element(True)
_HAS_CANARIES = b'"data":{"canaries":[{'
"""Of a decision's payload. No text within it holds this: its quotation marks are escaped."""


def outcomes_of_earlier_rounds(entries: Iterable[Entry]) -> list[OutcomeEntry]:
    """The first outcome of each execution that began in an earlier round, or that never was recorded."""
    begun: set[bytes] = set()
    found: dict[bytes, OutcomeEntry] = {}
    for entry in entries:
        if isinstance(entry, ActionEntry):
            begun.add(entry.execution_id)
        elif isinstance(entry, OutcomeEntry) and entry.execution_id not in begun:
            found.setdefault(entry.execution_id, entry)
    return list(found.values())


def plan_round(entries: Sequence[Entry], ended_earlier: Collection[bytes]) -> Round:
    """``ended_earlier``: executions of earlier rounds that ended with their outcome among ``entries``.

    An execution ends once. Later outcomes, and those of executions that were never recorded, leave nothing.
    """
    planned = Round()
    waiting = set(ended_earlier)
    at: dict[bytes, tuple[int, int]] = {}
    for entry in entries:
        if isinstance(entry, EventEntry):
            planned.events.append(entry)
        elif isinstance(entry, ActionEntry):
            _begin(planned, entry, at)
        elif entry.execution_id in at:
            _end(planned, entry, *at.pop(entry.execution_id))
            planned.events += _outcome_events(entry)
            planned.ended.append(entry)
        elif entry.execution_id in waiting:
            waiting.remove(entry.execution_id)
            planned.events += _outcome_events(entry)
            planned.ended.append(entry)
    return planned


def _begin(planned: Round, entry: ActionEntry, at: dict[bytes, tuple[int, int]]) -> None:
    for event_type, payload in ((_SUBMITTED, entry.submitted), (_DECIDED, entry.decided), (_STARTED, entry.started)):
        if payload != NULL:
            planned.events.append(EventEntry(event_type, entry.action_id, entry.agent_id, entry.created_at, payload))
    if _HAS_CANARIES in entry.decided:
        planned.events.append(
            EventEntry(_CANARY, entry.action_id, entry.agent_id, entry.created_at, _canary_payload(entry.decided))
        )
    if entry.execution_id != NULL:
        at[entry.execution_id] = len(planned.actions), len(planned.executions)
        planned.executions.append(
            NewExecution(
                entry.execution_id, entry.action_id, entry.instance_id, _RUNNING, entry.created_at, NULL, NULL, NULL
            )
        )
    planned.actions.append(
        NewAction(
            entry.action_id, entry.agent_id, entry.key_id, entry.source, entry.tool, entry.operation, entry.status,
            entry.digest, entry.request, entry.decision, entry.risk_level, entry.parent_action_id, entry.created_at,
            entry.created_at,
        )
    )  # fmt: skip


def _canary_payload(decided: bytes) -> bytes:
    """An event of its own for what a decision says of canary tokens: people are told of it."""
    data = json.loads(text_of(decided))["data"]
    return element(payload_text(SYSTEM, {"canaries": data["canaries"]}))


def _end(planned: Round, outcome: OutcomeEntry, action: int, execution: int) -> None:
    succeeded = outcome.succeeded == _TRUE
    planned.actions[action] = planned.actions[action]._replace(
        status=_ACTION_ENDED[succeeded], updated_at=outcome.completed_at
    )
    planned.executions[execution] = planned.executions[execution]._replace(
        status=_EXECUTION_ENDED[succeeded],
        completed_at=outcome.completed_at,
        error=outcome.error,
        result=outcome.result,
    )


def _outcome_events(outcome: OutcomeEntry) -> list[EventEntry]:
    about = outcome.action_id, outcome.agent_id, outcome.completed_at
    ended = EventEntry(_COMPLETED if outcome.succeeded == _TRUE else _FAILED, *about, outcome.payload)
    return [ended] if outcome.withheld == NULL else [EventEntry(_WITHHELD, *about, outcome.withheld), ended]
