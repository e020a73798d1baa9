"""The page of one call: each step on its way, and the bodies of its captured exchange for those who may read them."""

import html
import re

import pytest

from headgate.organizations.model import Role
from tests.integration.admin_api.traffic.conftest import keep

__all__ = ["api", "keep"]

_TWO = """package gate

require_approval if input.tool == "write"

approval := {"required_approvals": 2}
"""
_CALL = {"tool": "write", "operation": "line", "params": {"amount": 5}}


@pytest.fixture
def api(running_api):
    return running_api


def _steps(text: str) -> list[str]:
    """The words of each step, without times."""
    timeline = re.search(r'<ol class="timeline">(.*?)</ol>', text, re.DOTALL)
    assert timeline is not None
    plain = [re.sub(r"<time.*?</time>|<[^>]+>", " ", one) for one in timeline[1].split("<li>")[1:]]
    return [html.unescape(" ".join(one.split())) for one in plain]


async def test_each_step_of_a_call_that_two_people_decide(new_gate) -> None:
    gate = await new_gate(_TWO)
    held = (await gate.as_agent.post("/v1/actions", json=_CALL)).json()
    path = f"/v1/approvals/{held['approval_id']}"
    reassign = {"assignees": ["ann@example.com", "ben@example.com"], "reason": "on call"}
    assert (await gate.person().post(f"{path}/reassign", json=reassign)).status_code == 200
    ann, ben = gate.person("ann", Role.APPROVER), gate.person("ben", Role.APPROVER)
    edit = {"params": {"amount": 4}, "comment": "<i>less</i>"}
    assert (await ann.post(f"{path}/approve", json=edit)).status_code == 200
    assert (await ben.post(f"{path}/deny", json={"reason": "not today"})).status_code == 200

    vera = gate.person("vera", Role.VIEWER)
    shown = (await vera.get(f"/calls/{held['id']}")).text
    assert "<i>less" not in shown
    expected = [
        "Submitted by Robot",
        "Decision: Held “",
        "Approval requested by Robot",
        "Reassigned by alice@example.com to ann@example.com, ben@example.com “on call”",
        "Params edited by ann@example.com: params.amount",
        "Vote to approve by ann@example.com “<i>less</i>”",
        "Denied by ben@example.com “not today”",
    ]
    steps = _steps(shown)
    assert [one[: len(words)] for one, words in zip(steps, expected, strict=True)] == expected
    told = (await vera.get(f"/v1/actions/{held['id']}?expand=all")).json()["timeline"]
    assert told[0]["event"] == "action.submitted"
    assert "address" not in told[0]["actor"]
    assert (await gate.as_agent.get(f"/v1/actions/{held['id']}?expand=all")).json()["timeline"] is None


async def test_a_call_that_its_agent_withdraws(gate) -> None:
    held = (await gate.as_agent.post("/v1/actions", json=_CALL)).json()
    page = (await gate.person().get(f"/calls/{held['id']}")).text
    assert 'data-live="/v1/actions/events"' in page.partition("<main")[2]
    cancelled = await gate.as_agent.post(f"/v1/actions/{held['id']}/cancel", json={"reason": "found another way"})
    assert cancelled.status_code == 200, cancelled.text
    page = (await gate.person().get(f"/calls/{held['id']}")).text
    assert any(one.startswith("Withdrawn by Robot “found another way”") for one in _steps(page)), _steps(page)
    assert 'data-live="/v1/actions/events"' not in page.partition("<main")[2]


async def test_bodies_are_shown_to_those_who_may_read_captures_and_recorded(gate, keep) -> None:
    action = (await gate.as_agent.post("/v1/actions", json=_CALL)).json()
    [kept] = await keep(gate, {"action_id": action["id"], "body": b'{"text":"it\'s <b>bold"}', "answer": b"<u>thanks"})
    auditor = gate.person("otto", Role.AUDITOR)
    closed = (await auditor.get(f"/calls/{action['id']}")).text
    assert f"/calls/{action['id']}?captured=true" in closed
    assert "thanks" not in closed
    opened = (await auditor.get(f"/calls/{action['id']}?captured=true")).text
    assert "&lt;u&gt;thanks" in opened
    assert "<b>bold" not in opened
    assert "--data-raw" in opened
    events = (await auditor.get("/admin/audit?event_type=traffic.read")).json()["data"]
    assert [one["data"] for one in events] == [{"exchange_id": kept.exchange_id, "action_id": action["id"]}]


@pytest.mark.parametrize("role", [Role.APPROVER, Role.VIEWER, Role.BREAK_GLASS])
async def test_others_see_no_captured_bodies(gate, keep, role: Role) -> None:
    action = (await gate.as_agent.post("/v1/actions", json=_CALL)).json()
    await keep(gate, {"action_id": action["id"], "answer": b"only for auditors"})
    person = gate.person(role.value, role)
    for query in ("", "?captured=true"):
        shown = await person.get(f"/calls/{action['id']}{query}")
        assert shown.status_code == 200
        assert "only for auditors" not in shown.text
        assert "Captured exchange" not in shown.text
    assert (await gate.person().get("/admin/audit?event_type=traffic.read")).json()["data"] == []
