"""A changed policy over recorded actions: what would have changed, and what people had said."""

import asyncio
import json
import time

import pytest

DRAFT = """package draft

deny contains "no reads of secrets" if {
	input.tool == "read"
	input.params.name == "secret"
}

allow if input.tool == "write"
"""


async def submit(gate, tool: str, **params: object) -> dict[str, object]:
    action = {"tool": tool, "operation": "it", "params": params, "context": {"c": 1}}
    return (await gate.as_agent.post("/v1/actions", json=action)).json()


async def replay(admin, **body: object) -> list[dict[str, object]]:
    async with admin.stream("POST", "/admin/policies/replay", json=body, timeout=120) as answer:
        if answer.status_code != 200:
            await answer.aread()
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        return [json.loads(line) async for line in answer.aiter_lines()]


@pytest.fixture
async def recorded(gate):
    admin = gate.person()
    for name in ("a", "b", "secret"):
        await submit(gate, "read", name=name)
    await submit(gate, "wipe")
    approved, denied, open_one = [await submit(gate, "write", name=name) for name in ("x", "y", "z")]
    await admin.post(f"/v1/approvals/{approved['approval_id']}/approve", json={"comment": "yes"})
    await admin.post(f"/v1/approvals/{denied['approval_id']}/deny", json={"reason": "no"})
    return {"open": open_one}


async def test_a_draft_shows_what_it_would_have_changed(gate, recorded) -> None:
    lines = await replay(gate.person(), content=DRAFT, priority=1)
    assert lines[0] == {"type": "progress", "done": 0, "total": 7}
    assert lines[-2] == {"type": "progress", "done": 7, "total": 7}
    report = lines[-1]
    assert (report["type"], report["replayed"], report["changed"], report["unlike_recorded"]) == ("report", 7, 4, 0)
    assert report["changes"] == {"require_approval -> allow": 3, "allow -> deny": 1}
    assert report["by_tool"] == [
        {"tool": "write", "change": "require_approval -> allow", "actions": 3},
        {"tool": "read", "change": "allow -> deny", "actions": 1},
    ]
    assert [(one["name"], one["actions"]) for one in report["by_agent"]] == [("Robot", 3), ("Robot", 1)]
    humans = report["humans"]
    assert (humans["decided"], humans["agrees"], humans["contradicts"], humans["asks"]) == (2, 1, 1, 0)
    assert humans["denied_but_allowed_now"] == 1
    denied = next(one for one in report["examples"] if one["tool"] == "read")
    assert (denied["recorded"], denied["reason"], denied["policy_id"]) == ("allow", "no reads of secrets", "pol_draft")


async def test_a_saved_policy_is_replaced_or_left_out(gate, recorded) -> None:
    admin = gate.person()
    [policy] = (await admin.get("/admin/policies")).json()["data"]
    same = (await replay(admin, policy_id=policy["id"]))[-1]
    assert (same["changed"], same["replayed"]) == (0, 7)
    without = (await replay(admin, policy_id=policy["id"], enabled=False))[-1]
    assert without["changes"] == {"allow -> deny": 3, "require_approval -> deny": 3}
    assert (without["humans"]["approved_but_denied_now"], without["humans"]["agrees"]) == (1, 1)
    limited = (await replay(admin, policy_id=policy["id"], limit=2, agent_id=gate.agent_id))[-1]
    assert limited["replayed"] == 2
    nothing = (await replay(admin, policy_id=policy["id"], start_date="2020-01-01", end_date="2020-01-02"))[-1]
    assert nothing["replayed"] == 0
    assert (await admin.get("/admin/policies")).json()["data"] == [policy]


async def test_a_report_can_be_kept(gate, recorded, new_gate) -> None:
    admin = gate.person()
    report = (await replay(admin, content=DRAFT, keep=True, examples=1))[-1]
    kept = (await admin.get(f"/admin/policies/replays/{report['id']}")).json()
    assert kept["report"]["changes"] == report["changes"]
    assert (await admin.get("/admin/policies/replays")).json()["data"] == [kept]
    events = (await admin.get("/admin/audit", params={"event_type": "policy.replayed"})).json()["data"]
    assert events[0]["data"]["replay_id"] == report["id"]
    stranger = (await new_gate()).person()
    assert (await stranger.get(f"/admin/policies/replays/{report['id']}")).status_code == 404


async def test_what_cannot_be_replayed_is_refused_before_it_begins(gate, recorded) -> None:
    admin = gate.person()
    bad = await admin.post("/admin/policies/replay", json={"rego_policy": "package a\nallow if {"})
    assert (bad.status_code, bad.json()["error"]["details"]["line"]) == (400, 2)
    assert (await admin.post("/admin/policies/replay", json={})).status_code == 400
    gone = {"policy_id": "pol_00000000-0000-7000-8000-000000000000"}
    assert (await admin.post("/admin/policies/replay", json=gone)).status_code == 404


async def test_closing_the_connection_cancels_it(gate, recorded) -> None:
    admin = gate.person()
    endless = "package slow\n\ndeny if { some a in numbers.range(1, 900); some b in numbers.range(1, 900); a * b < 0 }"
    for _ in range(60):
        await submit(gate, "read", name="a")
    async with admin.stream("POST", "/admin/policies/replay", json={"rego_policy": endless, "priority": 1}) as answer:
        async for _ in answer.aiter_lines():
            break
    running = gate.api.dependencies.replay_policy._running
    began = time.monotonic()
    while running.locked() and time.monotonic() - began < 20:
        await asyncio.sleep(0.05)
    assert not running.locked()
    assert (await replay(admin, content=DRAFT))[-1]["type"] == "report"


async def _nlp_policy(admin, **fields: object) -> str:
    body = {"name": "No addresses", "type": "pii_detection", "threshold": 0.6, "on_match": "deny", **fields}
    made = await admin.post("/admin/nlp-policies", json=body)
    assert made.status_code == 201, made.text
    return made.json()["id"]


async def test_detectors_are_asked_where_that_is_wanted_and_what_is_not_asked_is_said(gate) -> None:
    admin = gate.person()
    for to in ("maria.keller@example.com", "nobody"):
        await submit(gate, "read", to=to)
        await submit(gate, "write", to=to)
    await submit(gate, "wipe", to="maria.keller@example.com")
    policy_id = await _nlp_policy(admin)
    await _nlp_policy(admin, name="Elsewhere", scope={"tools": ["other"]})
    await _nlp_policy(admin, name="Answers", scope={"direction": "response"})
    setting = {"kind": "openai_compatible", "base_url": "http://127.0.0.1:9/v1", "api_key": "no-real-key"}
    await admin.put("/admin/settings/nlp-providers", json={"local": setting})
    await _nlp_policy(admin, name="Judge", type="custom", provider="local", model="m", prompt="x")
    opening = 'package opening\n\nallow if input.tool == "write"\n'

    without = (await replay(admin, content=opening, priority=1))[-1]
    assert without["changes"] == {"require_approval -> allow": 2}
    assert without["nlp"]["asked"] == []
    assert {one["name"]: one["why"] for one in without["nlp"]["left_out"]} == {
        "No addresses": "not asked for (detectors)",
        "Elsewhere": "not asked for (detectors)",
        "Answers": "only about responses",
        "Judge": "language models are not asked again",
    }

    asked = (await replay(admin, content=opening, priority=1, detectors=True))[-1]
    # Of the two writes, the one with an address is denied with the change and without it.
    assert (asked["replayed"], asked["changes"]) == (5, {"require_approval -> allow": 1})
    assert asked["unlike_recorded"] == 2
    assert [one["name"] for one in asked["nlp"]["asked"]] == ["No addresses", "Elsewhere"]
    assert {one["name"] for one in asked["nlp"]["left_out"]} == {"Answers", "Judge"}

    await admin.patch(f"/admin/nlp-policies/{policy_id}", json={"on_match": "require_approval"})
    closing = 'package closing\n\nallow if input.tool == "wipe"\n'
    held = (await replay(admin, content=closing, priority=1, detectors=True))[-1]
    assert held["changes"] == {"deny -> require_approval": 1}
    [example] = held["examples"]
    assert (example["policy_id"], "No addresses: " in example["reason"]) == (policy_id, True)
    assert "maria" not in json.dumps(held)
