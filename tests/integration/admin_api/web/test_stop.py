"""The kill switch as a page: stops, resumes, refuses, and is refused to nobody by a quota."""

import html

import pytest

from headgate.organizations.model import Role

_CALL = {"tool": "write", "operation": "line", "params": {}}


async def test_stop_everything_and_resume(gate) -> None:
    person = gate.person()
    assert "No agent and no tool is stopped" in (await person.get("/stop")).text
    done = await person.post("/stop", data={"scope": "organization", "reason": "leaked <key>"})
    assert (done.status_code, done.headers["location"]) == (303, "/stop")
    assert (await gate.as_agent.post("/v1/actions", json=_CALL)).json()["status"] == "denied"
    shown = await person.get("/inbox")  # the state is on every page
    assert "All agents are stopped: leaked &lt;key&gt;" in shown.text
    assert 'href="/stop">Resume' in shown.text
    resume = {"scope": "organization", "act": "resume", "reason": "key revoked", "target": ""}
    assert (await person.post("/stop", data=resume)).status_code == 303
    assert (await gate.as_agent.post("/v1/actions", json=_CALL)).json()["status"] == "pending_approval"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"scope": "organization", "reason": ""}, "reason: "),
        ({"scope": "tool", "target": "No Tool", "reason": "test"}, "a tool name must match"),
        ({"scope": "agent", "target": "nobody-is-called-so", "reason": "test"}, "agent"),
        ({"scope": "planet", "reason": "test"}, "scope: "),
    ],
)
async def test_a_form_that_is_wrong_stops_nothing_and_says_why(gate, form: dict[str, str], words: str) -> None:
    answer = await gate.person().post("/stop", data=form)
    assert answer.status_code in (400, 404)
    assert words in html.unescape(answer.text)
    assert (await gate.person().get("/admin/settings/kill-switch")).json() == {"stops": []}


async def test_a_tool_that_no_call_names_is_stopped_with_a_warning(gate) -> None:
    person = gate.person()
    await gate.as_agent.post("/v1/actions", json=_CALL)
    seen = await person.post("/stop", data={"scope": "tool", "target": "write", "reason": "incident 7"})
    assert seen.headers["location"] == "/stop"
    unseen = await person.post("/stop", data={"scope": "tool", "target": "wirte", "reason": "incident 7"})
    assert unseen.headers["location"] == "/stop?unseen=wirte"
    shown = html.unescape((await person.get(unseen.headers["location"])).text)
    assert "No recorded call uses the tool wirte. The stop is in force." in shown


async def test_no_quota_refuses_it(gate) -> None:
    person = gate.person()
    for _ in range(120):
        answer = await person.post("/stop", data={"scope": "organization", "reason": ""})
        assert answer.status_code == 400
    assert (await person.post("/stop", data={"scope": "tool", "target": "write", "reason": "now"})).status_code == 303


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER, Role.OPERATOR])
async def test_only_administrators_stop(gate, role: Role) -> None:
    person = gate.person(role.value, role)
    assert (await person.get("/stop")).status_code == 403
    assert (await person.post("/stop", data={"scope": "organization", "reason": "mine"})).status_code == 403
    assert (await person.get("/more")).status_code == (403 if role is Role.OPERATOR else 200)


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER, Role.BREAK_GLASS])
async def test_who_may_read_sees_what_is_stopped_and_why(gate, new_gate, role: Role) -> None:
    reader = gate.person(role.value, role)
    assert 'id="stop-state"' in (await reader.get("/account")).text
    stops = [
        {"scope": "tool", "target": "write", "reason": "it pays twice"},
        {"scope": "agent", "target": gate.agent_id, "reason": "<b>it loops</b>"},
        {"scope": "organization", "reason": "leaked key"},
    ]
    for one in stops:
        assert (await gate.person().put("/admin/settings/kill-switch", json=one)).status_code == 200
    for page in ("/activity", "/account", "/policies"):
        shown = (await reader.get(page)).text
        text = html.unescape(shown)
        assert "<span>All agents are stopped: leaked key; " in text, page  # first
        assert "The tool write is stopped: it pays twice" in text, page
        assert "The agent Robot is stopped: <b>it loops</b>" in text, page
        assert "<b>it loops" not in shown
        assert "3 stopped" in text, page
        assert 'href="/stop"' not in shown, page
    listed = await reader.get("/admin/settings/kill-switch")
    assert {one["reason"] for one in listed.json()["stops"]} == {one["reason"] for one in stops}
    other = (await new_gate()).person(role.value, role)
    assert "stopped" not in (await other.get("/activity")).text
    assert (await other.get("/admin/settings/kill-switch")).json() == {"stops": []}


async def test_who_may_not_read_sees_no_stops(gate) -> None:
    await gate.person().put("/admin/settings/kill-switch", json={"scope": "organization", "reason": "leaked key"})
    operator = gate.person("otto", Role.OPERATOR)
    assert "leaked key" not in (await operator.get("/account")).text
    for caller in (operator, gate.as_agent):
        assert (await caller.get("/admin/settings/kill-switch")).status_code in (401, 403)
