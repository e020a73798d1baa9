"""A call whose destination was refused after the decision names the line that allows it."""

from datetime import UTC, datetime

from admin_api.actions.timeline import TimelineStepAnswer
from admin_api.web.blocked_destination import blocked_advice, is_blocked
from admin_api.web.call_timeline import moments_of

_ERROR = "not sent: destination blocked by the gate"


def _step(event: str, reason: str | None = None) -> TimelineStepAnswer:
    at = datetime(2026, 11, 27, tzinfo=UTC)
    attempt = 1 if event == "execution.started" else None
    return TimelineStepAnswer(
        event=event, at=at, actor=None, decision=None, reason=reason, attempt=attempt, times=1, assignees=[], changed=[]
    )


def test_the_line_to_paste() -> None:
    assert is_blocked(_ERROR)
    assert not is_blocked("not sent: connection refused")
    assert not is_blocked(None)
    said = blocked_advice({"host": "wiki.internal", "port": 8443})
    assert said.endswith("headgate allowlist add wiki.internal --port 8443 --private")
    assert "allowlist add" not in blocked_advice({"host": "169.254.169.254", "port": 80})
    assert "allowlist add" not in blocked_advice(None)


def test_its_timeline() -> None:
    moments = moments_of([_step("execution.started"), _step("execution.failed", _ERROR)], {})
    assert [(one.text, one.kind) for one in moments] == [("Started", ""), ("Refused: destination", "denied")]
    other = moments_of([_step("execution.started"), _step("execution.failed", "not sent: reset")], {})
    assert [one.text for one in other] == ["Forwarded", "Failed"]
