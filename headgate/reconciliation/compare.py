"""Finds differences between the rows of one action and its events. Pure.

Erased data stays erased: of an erased body only the stub is compared, and where payloads are erased too, only the
events' headers.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from headgate.kernel.canonical_json import canonical_bytes
from headgate.reconciliation.model import (
    ApprovalRow,
    Difference,
    ExecutionRow,
    Recorded,
    VoteRow,
)
from headgate.reconciliation.replay import ReplayedRows, replay

CLOCKS_APART: Final = timedelta(minutes=5)
"""The largest difference between the database's clock, which dates the use of an approval, and the clock of the
process that used it."""

_JSON: Final = frozenset({"decision", "edited_decision", "requirements", "standing"})
_A_ROW: Final = "a row"
_AN_EVENT: Final = "an event"
_ERASED: Final = "erased"

type IsDropped = Callable[[str], bool]
"""Whether the organization's retention rules dropped the bodies of an action."""


def differences(action_id: str, recorded: Recorded, is_dropped: IsDropped) -> Iterator[Difference]:
    """Returns the differences in the order of the tables; empty if all rows match."""
    replayed = replay(event for _, event in sorted(recorded.events, key=_place))
    if recorded.action is None:
        yield from _without_action(action_id, recorded)
        return
    for event_type in replayed.missing:
        yield Difference("audit_events", action_id, event_type, _AN_EVENT, None)
    if replayed.missing:
        return  # All other differences would follow from this one.
    yield from _bodies(action_id, recorded, replayed, is_dropped)
    if replayed.is_blind:
        yield from _of_headers(action_id, recorded)
        return
    yield from _action(action_id, recorded, replayed)
    yield from _approvals(action_id, recorded, replayed)
    yield from _votes(recorded, replayed)
    yield from _executions(recorded, replayed)


def _without_action(action_id: str, recorded: Recorded) -> Iterator[Difference]:
    if recorded.events:
        yield Difference("actions", action_id, None, _A_ROW, None)
        return
    for execution in recorded.executions:
        yield Difference("executions", execution.execution_id, None, None, _A_ROW)


def _place(event: tuple[int, object]) -> int:
    return event[0]


def _bodies(action_id: str, recorded: Recorded, replayed: ReplayedRows, is_dropped: IsDropped) -> Iterator[Difference]:
    """A marker of a missing body must be justified by an event; otherwise someone removed the body."""
    action = recorded.action
    if action is None or action.body_state == "clear":
        return
    if action.body_state == "erased" and replayed.erased is None:
        yield Difference("actions", action_id, "body_state", "no erasure: no event tells of one", "erased")
    elif action.body_state == "dropped" and not is_dropped(action_id):
        yield Difference("actions", action_id, "body_state", "not dropped: no event tells of it", "dropped")
    stub = f'{{"body":"{action.body_state}","params":{{}}}}'
    if action.body != stub:
        yield Difference("actions", action_id, "request", stub, action.body)


def _of_headers(action_id: str, recorded: Recorded) -> Iterator[Difference]:
    """The chain verification reports ``payload_missing``; this check compares only what needs no payload."""
    action = recorded.action
    for _, event in recorded.events:
        if action is not None and event.event_type == "action.submitted":
            found = {"agent_id": action.agent_id, "created_at": action.created_at}
            expected = {"agent_id": event.agent_id, "created_at": event.created_at}
            yield from _columns("actions", action_id, expected, found)


def _action(action_id: str, recorded: Recorded, replayed: ReplayedRows) -> Iterator[Difference]:
    action, expected = recorded.action, dict(replayed.action or {})
    if action is None:
        return
    if action.body_state != "clear":
        expected.pop("request", None)
    if action.updated_at in replayed.also_updated and action.status == expected.get("status"):
        expected["updated_at"] = action.updated_at
    yield from _columns("actions", action_id, expected, action._asdict())


def _approvals(action_id: str, recorded: Recorded, replayed: ReplayedRows) -> Iterator[Difference]:
    by_id = {one.approval_id: one for one in recorded.approvals}
    expected = dict(replayed.approval or {})
    if not expected:
        return  # The action's own column differs or states that there is none.
    approval = by_id.get(str(expected["approval_id"]))
    if approval is None:
        yield Difference("approvals", str(expected["approval_id"]), None, _A_ROW, None)
        return
    if recorded.action is not None and recorded.action.body_state != "clear":
        expected.pop("edited_request")
    expected["action_id"] = action_id
    yield from _columns("approvals", approval.approval_id, expected, approval._asdict())
    yield from _use(approval, replayed)


def _use(approval: ApprovalRow, replayed: ReplayedRows) -> Iterator[Difference]:
    if replayed.used_since is None or approval.used_at is None:
        if (replayed.used_since is None) != (approval.used_at is None):
            yield Difference("approvals", approval.approval_id, "used_at", replayed.used_since, approval.used_at)
        return
    try:
        apart = abs(datetime.fromisoformat(approval.used_at) - datetime.fromisoformat(replayed.used_since))
    except ValueError:
        apart = timedelta.max
    if apart > CLOCKS_APART:
        yield Difference("approvals", approval.approval_id, "used_at", f"about {replayed.used_since}", approval.used_at)


def _votes(recorded: Recorded, replayed: ReplayedRows) -> Iterator[Difference]:
    def identifier(vote: VoteRow) -> str:
        return f"{vote.approval_id}/{vote.user_id}"

    found = {one.user_id: one for one in recorded.votes}
    approval_id = (replayed.approval or {}).get("approval_id")
    for user_id in sorted(replayed.votes.keys() - found.keys()):
        yield Difference("approval_votes", f"{approval_id}/{user_id}", None, _A_ROW, None)
    for user_id, vote in sorted(found.items()):
        if user_id not in replayed.votes:
            yield Difference("approval_votes", identifier(vote), None, None, _A_ROW)
        else:
            yield from _columns("approval_votes", identifier(vote), replayed.votes[user_id], vote._asdict())


def _executions(recorded: Recorded, replayed: ReplayedRows) -> Iterator[Difference]:
    found = {one.execution_id: one for one in recorded.executions}
    has_bodies = recorded.action is not None and recorded.action.body_state == "clear"
    for execution_id in sorted(replayed.executions.keys() - found.keys()):
        yield Difference("executions", execution_id, None, _A_ROW, None)
    for execution_id, execution in sorted(found.items()):
        expected: Mapping[str, Any] | None = replayed.executions.get(execution_id)
        if expected is None:
            if not _waits(execution, recorded):
                yield Difference("executions", execution_id, None, None, _A_ROW)
        else:
            expected = _kept(expected, execution, has_bodies)
            if replayed.erased is not None and execution.error == _ERASED and expected["error"] is not None:
                expected = {**expected, "error": _ERASED}
            yield from _columns("executions", execution_id, expected, execution._asdict())


def _waits(execution: ExecutionRow, recorded: Recorded) -> bool:
    """Queued and never started: no event exists before an execution is claimed."""
    action = recorded.action
    return (
        execution[1:] == ("queued", "0", None, None, None, None)
        and len(recorded.executions) == 1
        and action is not None
        and action.source == "api"
        and action.status in ("allowed", "approved")
    )


def _kept(expected: Mapping[str, Any], row: ExecutionRow, has_bodies: bool) -> Mapping[str, Any]:
    """A result is a body: its row lacks it where bodies were moved or erased."""
    return expected if has_bodies or row.result is not None else {**expected, "result": None}


class _Shown(NamedTuple):
    is_same: bool
    expected: str | None


def _columns(
    table: str, row_id: str, expected: Mapping[str, Any], found: Mapping[str, str | None]
) -> Iterator[Difference]:
    for column, value in expected.items():
        same, shown = _compare(column, value, found[column])
        if not same:
            yield Difference(table, row_id, column, shown, found[column])


def _compare(column: str, expected: Any, found: str | None) -> _Shown:
    if expected is None or isinstance(expected, str):
        return _Shown(expected == found, expected)
    if column in _JSON:
        if found is not None and _read(found) == expected:
            return _Shown(True, None)
        return _Shown(False, canonical_bytes(expected).decode())
    shown = str(expected).lower() if isinstance(expected, bool) else str(expected)
    return _Shown(shown == found, shown)


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def first_of(found: Sequence[Difference]) -> str:
    """Text for people: the first differences, and the number of the others."""
    more = len(found) - 1
    return found[0].describe() + (f", and {more} more" if more else "")
