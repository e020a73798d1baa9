"""Several decisions in one request: each a vote of its own, with its own result."""

from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_PATH = "/v1/approvals/bulk-decision"


async def _held(gate, text: str) -> str:
    body = {"tool": "write", "operation": "line", "params": {"text": text}}
    return str((await gate.as_agent.post("/v1/actions", json=body)).json()["approval_id"])


async def test_each_is_decided_by_itself(gate) -> None:
    first, second, done = [await _held(gate, text) for text in ("one", "two", "three")]
    await gate.person().post(f"/v1/approvals/{done}/deny", json={"reason": "no"})
    missing = new_id(IdPrefix.APPROVAL)
    ids = [first, done, missing, second, first]
    answer = await gate.person("anna", Role.APPROVER).post(_PATH, json={"decision": "approve", "ids": ids})
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert [(one["id"], one["result"], one["status"], one["error"] and one["error"]["code"]) for one in results] == [
        (first, "voted", "approved", None),
        (done, "error", None, "CONFLICT"),
        (missing, "error", None, "NOT_FOUND"),
        (second, "voted", "approved", None),
    ]
    assert (answer.json()["voted"], answer.json()["failed"]) == (2, 2)
    events = await gate.person().get("/admin/audit", params={"event_type": "approval.approved"})
    assert {event["data"]["approval_id"] for event in events.json()["data"]} == {first, second}


async def test_all_that_are_identical(gate) -> None:
    same = [await _held(gate, "same") for _ in range(4)]
    other = await _held(gate, "other")
    body = {"decision": "deny", "identical_to": same[2], "reason": "it loops"}
    answer = await gate.person().post(_PATH, json=body)
    assert sorted(one["id"] for one in answer.json()["results"]) == same
    assert {one["status"] for one in answer.json()["results"]} == {"denied"}
    assert (await gate.person().get(f"/v1/approvals/{other}")).json()["status"] == "pending"


async def test_what_is_no_bulk_decision(gate, new_gate) -> None:
    approval_id = await _held(gate, "x")
    for body in (
        {"decision": "approve"},
        {"decision": "approve", "ids": []},
        {"decision": "approve", "ids": [approval_id] * 101},
        {"decision": "approve", "ids": ["x"]},
        {"decision": "approve", "ids": [approval_id], "identical_to": approval_id},
        {"decision": "maybe", "ids": [approval_id]},
    ):
        assert (await gate.person().post(_PATH, json=body)).status_code == 400
    without_reason = await gate.person().post(_PATH, json={"decision": "deny", "ids": [approval_id]})
    assert without_reason.json()["results"][0]["error"]["code"] == "VALIDATION_ERROR"
    assert (await gate.person("v", Role.VIEWER).post(_PATH, json={"decision": "approve"})).status_code == 403
    others = await (await new_gate()).person().post(_PATH, json={"decision": "approve", "ids": [approval_id]})
    assert others.json()["results"][0]["error"]["code"] == "NOT_FOUND"
    assert (await gate.person().get(f"/v1/approvals/{approval_id}")).json()["status"] == "pending"
