"""The steps of a call, as its events tell them, and the words of each."""

from datetime import UTC, datetime, timedelta

from admin_api.actions.timeline import TimelineActorAnswer, TimelineStepAnswer
from admin_api.web.call_timeline import moments_of
from headgate.actions.steps import steps_of
from headgate.audit.model import SYSTEM, Actor, ActorType, EventType, SealedEvent
from headgate.kernel.canonical_json import JsonObject

_AT = datetime(2026, 11, 27, 9, tzinfo=UTC)
_AGENT = Actor(ActorType.AGENT, "agt_1", "Robot", "10.0.0.7")


def _event(seq: int, event_type: str, data: JsonObject | None = None, actor: Actor | None = _AGENT) -> SealedEvent:
    at = _AT + timedelta(seconds=seq)
    return SealedEvent(
        f"evt_{seq}", seq, event_type, "act_1", "agt_1", at, at, actor, data or {}, b"", b"", None
    )  # fmt: skip


def test_equal_retries_are_one_step_and_attempts_are_counted() -> None:
    steps = steps_of(
        [
            _event(1, "action.submitted"),
            _event(2, "decision.shadowed", {"decision": "deny"}),
            _event(3, "action.retried"),
            _event(4, "action.retried"),
            _event(5, "execution.started"),
            _event(6, "execution.rescheduled", {"error": "503"}),
            _event(7, "execution.started"),
            _event(8, "execution.completed"),
            _event(9, "body.dropped"),
            _event(10, "unknown.event"),
        ]
    )
    assert [(one.event, one.times, one.attempt) for one in steps] == [
        (EventType.ACTION_SUBMITTED, 1, None),
        (EventType.ACTION_RETRIED, 2, None),
        (EventType.EXECUTION_STARTED, 1, 1),
        (EventType.EXECUTION_RESCHEDULED, 1, None),
        (EventType.EXECUTION_STARTED, 1, 2),
        (EventType.EXECUTION_COMPLETED, 1, None),
    ]
    assert steps[1].at == _AT + timedelta(seconds=4)
    assert steps[3].reason == "503"


def test_an_erased_payload_leaves_the_step() -> None:
    [step] = steps_of([_event(1, "approval.denied", {}, None)])
    assert (step.actor, step.reason) == (None, None)


def test_data_of_another_shape_is_no_error() -> None:
    [step] = steps_of([_event(1, "approval.reassigned", {"assignees": [1, "usr_1"], "reason": {"a": 1}, "changed": 3})])
    assert (step.assignees, step.reason, step.changed) == (("usr_1",), None, ())


def _step(event: str, actor: Actor | None = _AGENT, **changes: object) -> TimelineStepAnswer:
    shown = None if actor is None else TimelineActorAnswer(type=actor.type.value, id=actor.id, name=actor.name)
    empty = {"decision": None, "reason": None, "attempt": None, "times": 1, "assignees": [], "changed": []}
    return TimelineStepAnswer.model_validate({"event": event, "at": _AT, "actor": shown} | empty | changes)


def test_the_words_of_each_step() -> None:
    steps = [
        _step("decision.made", SYSTEM, decision="require_approval", reason="money"),
        _step("action.retried", times=3),
        _step("approval.escalated", SYSTEM, assignees=["usr_1", "group:leads"]),
        _step("decision.made", SYSTEM, decision="allow"),
        _step("execution.started", None, attempt=2),
    ]
    assert [(one.text, one.kind) for one in moments_of(steps, {"usr_1": "Ann", "agt_1": "Robot 2"})] == [
        ("Decision: Held", "held"),
        ("Sent again while it waits by Robot 2, 3 times", ""),
        ("Escalated to Ann, group:leads", ""),
        ("Decided again: Allowed", "allowed"),
        ("Forwarded, attempt 2", ""),
    ]


def test_a_call_whose_approval_is_used_is_not_held_again() -> None:
    held = _step("decision.made", SYSTEM, decision="require_approval")
    used = [held, _step("approval.approved"), held, _step("execution.started", None, attempt=1)]
    stricter = [held, _step("approval.approved"), held, _step("approval.requested")]
    assert [one.text for one in moments_of(used, {})][2] == "Decided again: Approved"
    assert [one.text for one in moments_of(stricter, {})][2] == "Decided again: Held"


def test_each_event_has_words() -> None:
    for event in EventType:
        for step in steps_of([_event(1, event.value)]):
            [moment] = moments_of([_step(step.event.value)], {})
            assert moment.text.strip(), event
