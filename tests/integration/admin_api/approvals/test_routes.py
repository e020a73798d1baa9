"""/v1/approvals and the admin decision: who may, what is answered, what a second decision is told."""

import asyncio
from datetime import datetime

import pytest

from headgate.agents.scopes import Scope
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_UNKNOWN = new_id(IdPrefix.APPROVAL)
_TWO = """package gate

require_approval if input.tool == "write"

approval := {"required_approvals": 2}
"""
_ASSIGNED = """package gate

require_approval if input.tool == "write"

approval := {"assignees": ["alice@example.com"]}
"""


async def _held(gate) -> dict:
    answer = await gate.as_agent.post("/v1/actions", json={"tool": "write", "operation": "rows", "params": {"n": 1}})
    assert answer.status_code == 202
    return answer.json()


async def test_an_approval_says_what_waits_and_why(gate) -> None:
    held = await _held(gate)
    approval = (await gate.person(role=Role.VIEWER).get(f"/v1/approvals/{held['approval_id']}")).json()
    assert (approval["id"], approval["action_id"], approval["agent_id"]) == (
        held["approval_id"], held["id"], gate.agent_id,
    )  # fmt: skip
    assert approval["status"] == "pending"
    assert approval["action"] == {"tool": "write", "operation": "rows", "params": {"n": 1}}
    assert approval["decision"] == {name: held["decision"][name] for name in ("reason", "risk_level", "policy_id")}
    assert approval["risk_is_stated"] is False
    assert (approval["required_approvals"], approval["current_approvals"]) == (1, 0)
    assert approval["assignees"] == []
    assert [(entry["event"], entry["by"]["id"]) for entry in approval["history"]] == [("requested", gate.agent_id)]
    lifetime = datetime.fromisoformat(approval["expires_at"]) - datetime.fromisoformat(approval["created_at"])
    assert lifetime.total_seconds() == 24 * 3600


async def test_approving(gate) -> None:
    held = await _held(gate)
    alice = gate.person()
    answer = await alice.post(f"/v1/approvals/{held['approval_id']}/approve", json={"comment": "go on"})
    body = answer.json()
    assert answer.status_code == 200
    assert (body["status"], body["comment"], body["current_approvals"]) == ("approved", "go on", 1)
    assert body["approved_by"]["email"] == "alice@example.com"
    assert body["approved_by"]["id"].startswith("usr_")
    assert datetime.fromisoformat(body["approved_at"]).tzinfo is not None
    approval = (await alice.get(f"/v1/approvals/{held['approval_id']}")).json()
    assert [entry["event"] for entry in approval["history"]] == ["requested", "approved"]
    assert approval["history"][1]["by"] == body["approved_by"]
    assert (await gate.as_agent.get(f"/v1/actions/{held['id']}")).json()["status"] == "approved"


@pytest.mark.parametrize("body", [None, {}, {"comment": None}])
async def test_a_comment_is_optional(gate, body: dict | None) -> None:
    held = await _held(gate)
    answer = await gate.person().post(f"/v1/approvals/{held['approval_id']}/approve", json=body)
    assert (answer.status_code, answer.json()["comment"]) == (200, None)
    empty = await gate.person("bob").post(f"/v1/approvals/{(await _held(gate))['approval_id']}/approve")
    assert empty.status_code == 200


async def test_denying(gate) -> None:
    held = await _held(gate)
    answer = await gate.person().post(f"/v1/approvals/{held['approval_id']}/deny", json={"reason": "not today"})
    body = answer.json()
    assert (answer.status_code, body["status"], body["reason"]) == (200, "denied", "not today")
    assert body["denied_by"]["email"] == "alice@example.com"
    told = (await gate.as_agent.get(f"/v1/actions/{held['id']}", params={"expand": "all"})).json()
    assert (told["status"], told["approval"]["comment"]) == ("denied", "not today")


@pytest.mark.parametrize(
    ("route", "body", "field"),
    [
        ("/v1/approvals/{}/deny", None, "body"),
        ("/v1/approvals/{}/deny", {}, "reason"),
        ("/v1/approvals/{}/deny", {"reason": " "}, "reason"),
        ("/v1/approvals/{}/deny", {"reason": "x" * 501}, "reason"),
        ("/v1/approvals/{}/deny", {"reason": "a\0b"}, "reason"),
        ("/v1/approvals/{}/approve", {"comment": "x" * 501}, "comment"),
        ("/v1/approvals/{}/approve", {"parms": {"amount": 1}}, "parms"),
        ("/admin/approvals/{}/decision", {"decision": "approve", "parms": {"amount": 1}}, "parms"),
        ("/admin/approvals/{}/decision", {"decision": "maybe"}, "decision"),
        ("/admin/approvals/{}/decision", {"reason": "x"}, "decision"),
    ],
)
async def test_malformed_decisions_change_nothing(gate, route: str, body: dict | None, field: str) -> None:
    held = await _held(gate)
    answer = await gate.person().post(route.format(held["approval_id"]), json=body)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, field)
    assert (await gate.person().get(f"/v1/approvals/{held['approval_id']}")).json()["status"] == "pending"


async def test_the_admin_decision_needs_no_reason(gate) -> None:
    held = await _held(gate)
    answer = await gate.person().post(f"/admin/approvals/{held['approval_id']}/decision", json={"decision": "deny"})
    assert (answer.status_code, answer.json()["status"], answer.json()["reason"]) == (200, "denied", None)
    [vote] = (await gate.person().get(f"/v1/approvals/{held['approval_id']}")).json()["decisions"]
    assert vote["reason"] is None


@pytest.mark.parametrize(
    ("route", "body", "said"),
    [
        ("approve", {"reason": "go on"}, ("comment", "go on")),
        ("deny", {"comment": "not today"}, ("reason", "not today")),
        ("approve", {"reason": "other", "comment": "go on"}, ("comment", "go on")),
        ("deny", {"reason": "not today", "comment": "other"}, ("reason", "not today")),
    ],
)
async def test_reason_and_comment_are_one_text(gate, route: str, body: dict, said: tuple[str, str]) -> None:
    held = await _held(gate)
    answer = await gate.person().post(f"/v1/approvals/{held['approval_id']}/{route}", json=body)
    assert (answer.status_code, answer.json()[said[0]]) == (200, said[1])


@pytest.mark.parametrize(("decision", "status"), [("approve", "approved"), ("deny", "denied")])
async def test_the_admin_decision(gate, decision: str, status: str) -> None:
    held = await _held(gate)
    answer = await gate.person(role=Role.APPROVER).post(
        f"/admin/approvals/{held['approval_id']}/decision", json={"decision": decision, "reason": "because"}
    )
    assert (answer.status_code, answer.json()["status"]) == (200, status)


async def test_a_second_decision_is_told_of_the_first(gate) -> None:
    held = await _held(gate)
    first = (await gate.person().post(f"/v1/approvals/{held['approval_id']}/approve")).json()
    second = await gate.person("bob").post(f"/v1/approvals/{held['approval_id']}/deny", json={"reason": "no"})
    error = second.json()["error"]
    assert (second.status_code, error["code"]) == (409, "CONFLICT")
    assert error["details"]["status"] == "approved"
    assert error["details"]["decided_by"] == first["approved_by"]["id"]


async def test_two_approvers_are_needed_where_the_policy_says_so(new_gate) -> None:
    gate = await new_gate(_TWO)
    held = await _held(gate)
    route = f"/v1/approvals/{held['approval_id']}/approve"
    assert (await gate.person().post(route)).json()["status"] == "pending"
    assert (await gate.person().post(route)).status_code == 409
    ownerless = await gate.key(Scope.APPROVALS_WRITE)
    assert (await ownerless.post(route)).status_code == 403
    assert (await gate.person("bob").post(route)).json()["status"] == "approved"


async def test_assignees_decide_and_their_keys_do_too(new_gate) -> None:
    gate = await new_gate(_ASSIGNED)
    held, again = await _held(gate), await _held(gate)
    bob = gate.person("bob", Role.APPROVER)
    refused = await bob.post(f"/v1/approvals/{held['approval_id']}/approve")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
    approval = (await bob.get(f"/v1/approvals/{held['approval_id']}")).json()
    assert approval["assignees"] == [{"id": None, "email": "alice@example.com"}]
    alice = gate.person("alice", Role.APPROVER)
    decided = (await alice.post(f"/v1/approvals/{held['approval_id']}/approve")).json()
    assert decided["status"] == "approved"
    alices_key = await gate.key(Scope.APPROVALS_WRITE, user_id=decided["approved_by"]["id"])
    by_key = (await alices_key.post(f"/v1/approvals/{again['approval_id']}/approve")).json()
    assert (by_key["status"], by_key["approved_by"]) == ("approved", decided["approved_by"])


@pytest.mark.parametrize("client", ["agent", "viewer", "reader key"])
async def test_without_the_scope_nobody_decides(gate, client: str) -> None:
    held = await _held(gate)
    caller = {"agent": gate.as_agent, "viewer": gate.person("eve", Role.VIEWER)}.get(client)
    caller = caller or await gate.key(Scope.APPROVALS_READ)
    answer = await caller.post(f"/v1/approvals/{held['approval_id']}/approve")
    assert answer.status_code == 403
    assert "approvals:write" in answer.json()["error"]["message"]


async def test_another_organizations_approval_does_not_exist(gate, new_gate) -> None:
    held = await _held(gate)
    stranger = (await new_gate()).person()
    for approval_id in (held["approval_id"], _UNKNOWN):
        for answer in (
            await stranger.get(f"/v1/approvals/{approval_id}"),
            await stranger.post(f"/v1/approvals/{approval_id}/approve"),
            await stranger.post(f"/v1/approvals/{approval_id}/deny", json={"reason": "x"}),
            await stranger.post(f"/admin/approvals/{approval_id}/decision", json={"decision": "approve"}),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
    assert (await stranger.get("/v1/approvals")).json()["data"] == []


async def test_lists(gate) -> None:
    first, second = await _held(gate), await _held(gate)
    alice = gate.person()
    await alice.post(f"/v1/approvals/{first['approval_id']}/approve")
    everything = (await alice.get("/v1/approvals")).json()
    assert [one["id"] for one in everything["data"]] == [second["approval_id"], first["approval_id"]]
    assert everything["pagination"] == {"total": 2, "limit": 20, "offset": 0, "next_cursor": None}
    for query, found in (
        ("status=pending", [second]),
        ("status=approved", [first]),
        ("status=denied", []),
        (f"agent_id={gate.agent_id}&risk_level=high&limit=1", [second]),
        ("risk_level=low", []),
    ):
        listed = (await alice.get(f"/v1/approvals?{query}")).json()["data"]
        assert [one["id"] for one in listed] == [one["approval_id"] for one in found]
    for query in ("status=done", "risk_level=huge", "agent_id=x", "cursor=x", "limit=0"):
        assert (await alice.get(f"/v1/approvals?{query}")).status_code == 400


async def test_the_camel_shape(gate) -> None:
    held = await _held(gate)
    alice = gate.person()
    await alice.post(f"/v1/approvals/{held['approval_id']}/approve", json={"comment": "ok"})
    one = (await alice.get(f"/v1/approvals/{held['approval_id']}?shape=camel")).json()
    assert (one["actionId"], one["requiredApprovals"], one["currentApprovals"]) == (held["id"], 1, 1)
    assert {"expiresAt", "createdAt", "approvers", "status"} <= set(one)
    assert [(vote["decision"], vote["reason"]) for vote in one["decisions"]] == [("approve", "ok")]
    listed = (await alice.get("/v1/approvals?shape=camel")).json()
    assert listed == {"data": [one], "pagination": {"total": 1, "page": 1, "pageSize": 20, "totalPages": 1}}


async def test_two_people_at_the_same_moment(gate) -> None:
    held = await _held(gate)
    route = f"/v1/approvals/{held['approval_id']}"
    answers = await asyncio.gather(
        gate.person().post(f"{route}/approve"),
        gate.person("bob").post(f"{route}/deny", json={"reason": "no"}),
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]


async def test_a_body_without_its_content_type_says_what_to_send(gate) -> None:
    held = await _held(gate)
    answer = await gate.person().post(
        f"/v1/approvals/{held['approval_id']}/approve",
        content=b'{"comment": "fine"}',
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["details"]["field"]) == (400, "body")
    assert "Content-Type: application/json" in error["message"]


async def test_lists_read_the_beginning_of_a_large_request(gate) -> None:
    """An agent holds a page of calls of a megabyte each; one of ten may come through the gate."""
    rows = [{"n": number, "name": f"row {number}"} for number in range(20_000)]
    body = {"tool": "write", "operation": "rows", "params": {"amount": 12, "rows": rows}}
    held = (await gate.as_agent.post("/v1/actions", json=body)).json()
    small = (await gate.as_agent.post("/v1/actions", json={**body, "params": {"amount": 3}})).json()
    person = gate.person()
    listed = {one["id"]: one for one in (await person.get("/v1/approvals?status=pending")).json()["data"]}
    large = listed[held["approval_id"]]
    assert (large["is_whole"], large["action"]["params"]) == (False, {"amount": 12})
    assert "amount 12" in large["summary"]
    assert listed[small["approval_id"]]["is_whole"]
    whole = (await person.get(f"/v1/approvals/{held['approval_id']}")).json()
    assert whole["action"]["params"]["rows"] == rows
    assert whole["context"]["request"]["params"]["rows"] == rows
    shown = (await person.get("/inbox")).text
    assert len(shown) < 500_000 + len((await person.get(f"/inbox/{small['approval_id']}")).text)
    found = (await person.get("/v1/actions/search?text=amount&limit=5")).json()["data"]
    assert held["id"] in {one["id"] for one in found}
    assert (await person.get(f"/v1/actions/{held['id']}")).json()["request"]["params"]["rows"] == rows
