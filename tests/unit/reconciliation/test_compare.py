"""What rows must say after a sequence of events: states in flight, uses that were given back, what was forgotten."""

from typing import Any

import pytest

from headgate.kernel.canonical_json import canonical_bytes, sha256_hex
from headgate.reconciliation.compare import CLOCKS_APART, differences
from headgate.reconciliation.model import (
    ActionEvent,
    ActionRow,
    ApprovalRow,
    Difference,
    ExecutionRow,
    Recorded,
)

ACTION = "act_1"
_DECISION = {
    "decision": "allow", "reason": "fine", "risk_level": "low", "policy_id": "pol_1", "evaluation_time_ms": 0.25,
    "policies": [],
}  # fmt: skip
_RESULT = {"status": 200}


def _at(second: int) -> str:
    return f"2026-11-21T08:00:{second:02}.000000Z"


def _event(second: int, event_type: str, **data: Any) -> tuple[int, ActionEvent]:
    return second, ActionEvent(event_type, "agt_1", _at(second), data, {"id": "agt_1"})


_SUBMITTED = {
    "source": "proxy", "tool": "mail", "operation": "send", "digest": "sha256:aa", "request_digest": "sha256:bb",
    "key_id": "key_1",
}  # fmt: skip
_HEAD = [_event(1, "action.submitted", **_SUBMITTED), _event(2, "decision.made", **_DECISION, generation=7)]
_STARTED = _event(3, "execution.started", execution_id="exe_1")
_ENDED = _event(4, "execution.completed", execution_id="exe_1", result=_RESULT)
_ACTION = ActionRow(
    "agt_1", "key_1", "proxy", "mail", "send", "completed", "sha256:aa", "sha256:bb",
    canonical_bytes(_DECISION).decode(), "low", None, None, _at(1), _at(4), "clear", None,
)  # fmt: skip
_EXECUTION = ExecutionRow("exe_1", "succeeded", "1", _at(3), _at(4), None, sha256_hex(canonical_bytes(_RESULT)))


def _found(recorded: Recorded, *, is_dropped: bool = False) -> list[Difference]:
    return [*differences(ACTION, recorded, lambda action_id: is_dropped)]


def test_what_ended() -> None:
    assert _found(Recorded(_ACTION, executions=[_EXECUTION], events=[*_HEAD, _STARTED, _ENDED])) == []


def test_the_order_is_the_records() -> None:
    assert _found(Recorded(_ACTION, executions=[_EXECUTION], events=[_ENDED, *_HEAD[::-1], _STARTED])) == []


def test_an_event_without_its_row_is_named() -> None:
    running = ExecutionRow("exe_1", "running", "1", _at(3), None, None, None)
    action = _ACTION._replace(status="executing", updated_at=_at(3))
    found = _found(Recorded(action, executions=[running], events=[*_HEAD, _STARTED, _ENDED]))
    assert ("executions", "status") in [(one.table, one.column) for one in found]


_APPROVAL = ApprovalRow(
    "apr_1", ACTION, "agt_1", "proxy", "mail", "sha256:aa", "approved", "[]", "1", "1", "ask", "high", "pol_1", None,
    _at(1), _at(50), _at(4), "usr_1", None, None, None, None, None, None, None, None, None, None,
)  # fmt: skip
_ASK = {**_DECISION, "decision": "require_approval", "reason": "ask", "risk_level": "high"}
_HELD = [
    _HEAD[0],
    _event(2, "decision.made", **_ASK, generation=7),
    _event(3, "approval.requested", approval_id="apr_1", required_approvals=1, requirements=[], expires_at=_at(50)),
    (4, ActionEvent("approval.approved", "agt_1", _at(4), {
        "approval_id": "apr_1", "vote": "approve", "current_approvals": 1, "digest": "sha256:aa"}, {"id": "usr_1"})),
]  # fmt: skip


def _held(**changed: Any) -> Recorded:
    action = _ACTION._replace(
        decision=canonical_bytes(_ASK).decode(), risk_level="high", approval_id="apr_1", status="executing",
        updated_at=_at(5),
    )  # fmt: skip
    return Recorded(action._replace(**changed))


def _without_votes(found: list[Difference]) -> list[tuple[str, str | None]]:
    return [(one.table, one.column) for one in found if one.table != "approval_votes"]


def test_a_use_that_was_given_back_may_be_claimed_again() -> None:
    started = _event(5, "execution.started", execution_id="exe_1", approval_id="apr_1")
    back = _event(6, "execution.failed", execution_id="exe_1", error="gone away", approval_given_back="apr_1")
    again = _event(7, "execution.started", execution_id="exe_2", approval_id="apr_1")
    failed = ExecutionRow("exe_1", "failed", "1", _at(5), _at(6), "gone away", None)
    recorded = _held(status="approved", updated_at=_at(6))
    recorded.approvals, recorded.executions = [_APPROVAL], [failed]
    recorded.events = [*_HELD, started, back]
    assert _without_votes(_found(recorded)) == []
    recorded.events.append(again)
    recorded.executions.append(ExecutionRow("exe_2", "running", "1", _at(7), None, None, None))
    recorded.approvals = [_APPROVAL._replace(used_by="exe_2", used_at=_at(7))]
    assert recorded.action is not None
    recorded.action = recorded.action._replace(status="executing", updated_at=_at(7))
    assert _without_votes(_found(recorded)) == []
    recorded.approvals = [_APPROVAL]
    assert _without_votes(_found(recorded)) == [("approvals", "used_by"), ("approvals", "used_at")]


@pytest.mark.parametrize(
    ("used_at", "is_same"), [(_at(59), True), ("infinity", False), ("2026-11-21T09:00:00Z", False)]
)
def test_the_clock_of_a_use_is_the_servers(used_at: str, is_same: bool) -> None:
    recorded = _held()
    recorded.events = [*_HELD, _event(5, "execution.started", execution_id="exe_1", approval_id="apr_1")]
    recorded.executions = [ExecutionRow("exe_1", "running", "1", _at(5), None, None, None)]
    recorded.approvals = [_APPROVAL._replace(used_by="exe_1", used_at=used_at)]
    assert CLOCKS_APART.total_seconds() < 3000
    assert _without_votes(_found(recorded)) == ([] if is_same else [("approvals", "used_at")])


@pytest.mark.parametrize("state", ["kept", "dropped", "erased"])
def test_bodies_that_are_not_there_any_more_need_a_reason(state: str) -> None:
    stub = f'{{"body":"{state}","params":{{}}}}'
    action = _ACTION._replace(body_state=state, body=stub, request="sha256:cc")
    execution = _EXECUTION._replace(result=None)
    events = [*_HEAD, _STARTED, _ENDED]
    erasure = (9, ActionEvent("body.erased", "agt_1", _at(9), {"depth": "bodies"}, {"id": "usr_1"}))
    recorded = [*events, erasure] if state == "erased" else events
    assert _found(Recorded(action, executions=[execution], events=recorded), is_dropped=state == "dropped") == []
    found = _found(Recorded(action, executions=[execution], events=events))
    assert [one.column for one in found] == ([] if state == "kept" else ["body_state"])
    forged = Recorded(action._replace(body='{"params":{"to":"x"}}'), executions=[execution], events=recorded)
    assert [one.column for one in _found(forged, is_dropped=True)] == ["request"]


def test_a_result_that_is_gone_is_missed_where_bodies_are_there() -> None:
    execution = _EXECUTION._replace(result=None)
    found = _found(Recorded(_ACTION, executions=[execution], events=[*_HEAD, _STARTED, _ENDED]))
    assert [(one.column, one.found) for one in found] == [("result", None)]


def test_where_everything_was_erased_headers_still_tell() -> None:
    erased = [(place, event._replace(data=None, actor=None)) for place, event in [*_HEAD, _STARTED, _ENDED]]
    erasure = (9, ActionEvent("body.erased", "agt_1", _at(9), {"depth": "everything"}, {"id": "usr_1"}))
    stub = '{"body":"erased","params":{}}'
    action = _ACTION._replace(body_state="erased", body=stub, decision="{}", digest="sha256:ff")
    assert _found(Recorded(action, executions=[_EXECUTION], events=[*erased, erasure])) == []
    forged = Recorded(action._replace(agent_id="agt_2"), executions=[_EXECUTION], events=[*erased, erasure])
    assert [one.column for one in _found(forged)] == ["agent_id"]


def test_a_call_that_waits_in_the_queue_has_no_event_yet() -> None:
    action = _ACTION._replace(source="api", status="allowed", updated_at=_at(1))
    events = [_event(1, "action.submitted", **{**_SUBMITTED, "source": "api"}), _HEAD[1]]
    queued = ExecutionRow("exe_1", "queued", "0", None, None, None, None)
    assert _found(Recorded(action, executions=[queued], events=events)) == []
    for forged in (queued._replace(status="succeeded"), queued._replace(attempts="1")):
        assert [one.table for one in _found(Recorded(action, executions=[forged], events=events))] == ["executions"]
    assert len(_found(Recorded(action, executions=[queued, queued._replace(execution_id="exe_2")], events=events))) == 2


def test_nothing_else_is_told_where_the_first_event_is_missing() -> None:
    found = _found(Recorded(_ACTION, executions=[_EXECUTION], events=[_STARTED, _ENDED]))
    assert [(one.table, one.column) for one in found] == [("audit_events", "action.submitted")]
