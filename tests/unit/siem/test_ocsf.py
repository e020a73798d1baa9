"""Recorded events as OCSF: what every class of version 1.8.0 demands is there."""

import json
from datetime import UTC, datetime

import pytest

from headgate.audit.model import SYSTEM, Actor, ActorType, EventType
from headgate.relay.model import RecordedEvent
from headgate.siem.ocsf import json_line, ocsf_event

_AT = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
_ALICE = Actor(ActorType.USER, "usr_1", "alice@example.com", "192.0.2.7")
_ROBOT = Actor(ActorType.AGENT, "agt_1", "Robot")

# Of the classes used: what their definitions mark as required, beyond what every class has.
_REQUIRED = {6003: {"actor", "api", "src_endpoint"}, 3004: {"entity"}, 3001: {"user"}, 3002: {"user"}, 6008: set()}
_ALWAYS = {"activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid"}


def told(event_type: str, actor: Actor | None = SYSTEM, **data: object) -> dict:
    event = RecordedEvent("evt_1", 7, event_type, "act_1", "agt_1", _AT, actor, data)  # type: ignore[arg-type]
    return ocsf_event(event, "org_1", "1.2.3")


@pytest.mark.parametrize("event_type", [*EventType, "login.failed", "session.ended", "something.new"])
@pytest.mark.parametrize("actor", [SYSTEM, _ALICE, _ROBOT, None])
def test_every_event_has_what_its_class_demands(event_type: str, actor: Actor | None) -> None:
    found = told(str(event_type), actor)
    assert set(found) >= _ALWAYS | _REQUIRED[found["class_uid"]]
    assert found["type_uid"] == found["class_uid"] * 100 + found["activity_id"]
    assert found["category_uid"] == found["class_uid"] // 1000
    assert found["time"] == 1_795_255_200_123
    metadata = found["metadata"]
    assert (metadata["version"], metadata["uid"], metadata["product"]["version"]) == ("1.8.0", "evt_1", "1.2.3")
    assert found["unmapped"]["event_type"] == event_type
    endpoint = found.get("src_endpoint", {"ip": "x"})
    assert any(endpoint.get(name) for name in ("ip", "name"))


@pytest.mark.parametrize(
    ("event_type", "class_uid", "activity"),
    [
        ("action.submitted", 6003, "action.submitted"),
        ("decision.made", 6003, "decision.made"),
        ("approval.denied", 6003, "approval.denied"),
        ("execution.failed", 6003, "execution.failed"),
        ("policy.created", 3004, "Create"),
        ("audit.exported", 3004, "Read"),
        ("setting.changed", 3004, "Update"),
        ("key.revoked", 3004, "Delete"),
        ("signing_key.rotated", 3004, "Update"),
        ("signing_key.retired", 3004, "Delete"),
        ("agent.suspended", 3004, "Suspend"),
        ("agent.resumed", 3004, "Resume"),
        ("webhook.disabled", 3004, "Disable"),
        ("user.created", 3001, "Create"),
        ("user.deactivated", 3001, "Disable"),
        ("login.succeeded", 3002, "Logon"),
        ("session.ended", 3002, "Logoff"),
        ("checkpoint.export_failed", 6008, "General Error"),
        ("event_stream.failed", 6008, "General Error"),
    ],
)
def test_classes_and_activities(event_type: str, class_uid: int, activity: str) -> None:
    found = told(event_type)
    assert (found["class_uid"], found["activity_name"]) == (class_uid, activity)


@pytest.mark.parametrize(
    ("decision", "action_id", "disposition"),
    [("allow", 1, "Allowed"), ("deny", 2, "Blocked"), ("require_approval", 0, "Held for approval")],
)
def test_a_decision_is_a_disposition(decision: str, action_id: int, disposition: str) -> None:
    found = told("decision.made", decision=decision, risk_level="critical", reason="because")
    assert (found["action_id"], found["disposition"]) == (action_id, disposition)
    assert (found["severity_id"], found["message"]) == (5, "decision.made: because")
    assert found["metadata"]["profiles"] == ["security_control"]


def test_who_did_it_and_from_where() -> None:
    found = told("policy.updated", _ALICE, policy_id="pol_1", name="Mine")
    assert found["actor"]["user"] == {
        "uid": "usr_1", "type_id": 1, "type": "User", "name": "alice@example.com", "email_addr": "alice@example.com",
    }  # fmt: skip
    assert found["src_endpoint"] == {"ip": "192.0.2.7"}
    assert found["entity"] == {"type": "policy", "uid": "pol_1", "name": "Mine"}
    submitted = told("action.submitted", _ROBOT, tool="mail", operation="send")
    assert submitted["api"] == {"operation": "send", "service": {"name": "mail"}, "request": {"uid": "act_1"}}
    assert submitted["src_endpoint"] == {"name": "Robot"}


def test_a_line_is_one_line_of_ascii() -> None:
    line = json_line(told("policy.updated", _ALICE, name="ü\n\u2028=1"))
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["entity"]["name"] == "ü\n\u2028=1"
