"""/v1/actions end to end: every status, every code, one's own actions only."""

import asyncio
import re
import time
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from headgate.agents.scopes import Scope
from headgate.executions.close_orphans import close_orphans
from headgate.kernel.clock import system_clock
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_READ = {"tool": "read", "operation": "rows", "params": {"table": "t"}}
_WRITE = {"tool": "write", "operation": "rows", "params": {"table": "t", "rows": [1, 2]}}


async def _submit(client: httpx.AsyncClient, body: dict, **more: object) -> httpx.Response:
    return await client.post("/v1/actions", json={**body, **more})


@pytest.mark.parametrize(
    ("tool", "code", "status", "decision"),
    [
        ("read", 201, "allowed", "allow"),
        ("wipe", 201, "denied", "deny"),
        ("unknown", 201, "denied", "deny"),
        ("write", 202, "pending_approval", "require_approval"),
    ],
)
async def test_a_proposal_is_answered_with_its_decision(gate, tool: str, code: int, status: str, decision: str) -> None:
    answer = await _submit(gate.as_agent, _READ, tool=tool, context={"why": "test"})
    assert answer.status_code == code
    body = answer.json()
    assert set(body) == {"id", "status", "decision", "approval_id", "created_at", "execution", "is_duplicate"}
    assert set(body["decision"]) == {"decision", "reason", "risk_level", "policy_id", "evaluation_time_ms"}
    assert (body["status"], body["decision"]["decision"], body["is_duplicate"]) == (status, decision, False)
    assert (body["approval_id"] is not None) == (status == "pending_approval")
    assert re.fullmatch(r"act_[0-9a-f-]{36}", body["id"])
    assert datetime.fromisoformat(body["created_at"]).tzinfo is not None
    assert answer.headers["Location"] == f"/v1/actions/{body['id']}"

    detail = (await gate.as_agent.get(answer.headers["Location"])).json()
    assert {name: detail[name] for name in body if name != "is_duplicate"} == {
        name: body[name] for name in body if name != "is_duplicate"
    }
    assert (detail["tool"], detail["operation"]) == (tool, "rows")
    documented = {*body, "tool", "operation", "updated_at"}
    assert set(detail) == documented | {"request", "approval", "delegation_count"}
    assert detail["request"] == {
        "tool": tool, "operation": "rows", "params": {"table": "t"}, "agent_id": gate.agent_id,
        "context": {"why": "test"},
    }  # fmt: skip
    assert detail["delegation_count"] == 0
    assert (detail["approval"] is not None) == (status == "pending_approval")
    if detail["approval"] is not None:
        assert set(detail["approval"]) == {"id", "status", "approver_id", "decided_at", "expires_at"}
    for path in ("/v1/actions", f"/admin/agents/{gate.agent_id}/actions"):
        assert set((await gate.person().get(path)).json()["data"][0]) == documented
        listed = (await gate.person().get(f"{path}?expand=all")).json()["data"][0]
        assert set(listed) == documented | {"agent_id", "tags", "masked"}
        assert (listed["tags"], listed["masked"]) == ([], None)


async def test_the_rest_is_shown_to_those_who_ask(gate) -> None:
    made = (await _submit(gate.as_agent, _WRITE)).json()
    await gate.person().post(f"/v1/approvals/{made['approval_id']}/deny", json={"reason": "not today"})
    plain = (await gate.as_agent.get(f"/v1/actions/{made['id']}")).json()
    whole = (await gate.as_agent.get(f"/v1/actions/{made['id']}?expand=all")).json()
    assert set(whole) - set(plain) == {
        "agent_id", "body", "approved_params", "parent_action_id", "delegation", "policies", "timeline", "stopped",
        "canaries", "tags", "masked",
    }  # fmt: skip
    assert set(whole["request"]) - set(plain["request"]) == {
        "delegation", "http", "provenance", "mcp", "unparsed_body",
    }  # fmt: skip
    assert set(whole["approval"]) - set(plain["approval"]) == {"comment", "approver", "edited_by", "edited_at"}
    assert whole["approval"]["comment"] == "not today"
    people = {
        one["id"]: one["email"] or one["name"] for one in (await gate.person().get("/admin/users")).json()["data"]
    }
    assert whole["approval"]["approver"] == people[whole["approval"]["approver_id"]]
    refused = await gate.as_agent.get(f"/v1/actions/{made['id']}?expand=some")
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "expand")


async def test_an_idempotency_key_gives_one_action_for_ever(gate) -> None:
    first = await _submit(gate.as_agent, _WRITE, idempotency_key="k1")
    again = await _submit(gate.as_agent, _WRITE, idempotency_key="k1")
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json() == {**first.json(), "is_duplicate": True}
    other = await _submit(gate.as_agent, _READ, idempotency_key="k1")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "CONFLICT")
    assert other.json()["error"]["details"]["action_id"] == first.json()["id"]
    await gate.person().post(f"/v1/approvals/{first.json()['approval_id']}/approve")
    assert (await _submit(gate.as_agent, _WRITE, idempotency_key="k1")).json()["status"] == "approved"


async def test_an_agent_cannot_bury_its_reviewers(gate, monkeypatch) -> None:
    monkeypatch.setattr(gate.api.dependencies.submit_action, "_most_open_approvals", 3)
    opened = [await _submit(gate.as_agent, _WRITE, idempotency_key=f"k{number}") for number in range(3)]
    assert [answer.status_code for answer in opened] == [202] * 3
    refused = await _submit(gate.as_agent, _WRITE)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
    assert refused.json()["error"]["details"] == {"open_approvals": 3}
    told = [refused.headers.get_list(f"X-RateLimit-{name}") for name in ("Limit", "Remaining")]
    assert told == [["3"], ["0"]]  # of the limit that refused, once each
    assert int(refused.headers["X-RateLimit-Reset"]) >= time.time() - 1
    # What was asked for already, and what needs nobody, is answered all the same; a decision makes room.
    assert (await _submit(gate.as_agent, _WRITE, idempotency_key="k0")).status_code == 200
    assert (await _submit(gate.as_agent, _READ)).status_code == 201
    await gate.person().post(f"/v1/approvals/{opened[0].json()['approval_id']}/approve")
    assert (await _submit(gate.as_agent, _WRITE)).status_code == 202
    pending = (await gate.person().get("/v1/approvals?status=pending")).json()
    assert pending["pagination"]["total"] == 3


async def test_all_at_once_open_no_more_than_one_after_the_other(gate, monkeypatch) -> None:
    monkeypatch.setattr(gate.api.dependencies.submit_action, "_most_open_approvals", 3)
    answers = await asyncio.gather(*(_submit(gate.as_agent, _WRITE) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [202] * 3 + [429] * 5
    pending = (await gate.person().get("/v1/approvals?status=pending")).json()
    assert pending["pagination"]["total"] == 3


@pytest.mark.parametrize("body", [_READ, _WRITE])
async def test_a_race_for_an_idempotency_key_makes_one_row(gate, body: dict) -> None:
    answers = await asyncio.gather(*(_submit(gate.as_agent, body, idempotency_key="k") for _ in range(8)))
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sorted(answer.json()["is_duplicate"] for answer in answers) == [False] + [True] * 7
    assert (await gate.as_agent.get("/v1/actions")).json()["pagination"]["total"] == 1


async def test_without_a_key_each_proposal_is_a_new_action(gate) -> None:
    first, second = await _submit(gate.as_agent, _WRITE), await _submit(gate.as_agent, _WRITE)
    assert first.json()["id"] != second.json()["id"]
    assert first.json()["approval_id"] != second.json()["approval_id"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**_READ, "extra": 1}, "extra"),
        ({"tool": "read", "operation": "x"}, "params"),
        ({**_READ, "tool": "Read"}, "tool"),
        ({**_READ, "tool": "a" * 65}, "tool"),
        ({**_READ, "params": []}, "params"),
        ({**_READ, "idempotency_key": "k" * 129}, "idempotency_key"),
        ({**_READ, "parentActionId": "act_nobody"}, "parentActionId"),
        ({**_READ, "parentActionId": new_id(IdPrefix.ACTION)}, "parentActionId"),
    ],
)
async def test_a_malformed_proposal_is_refused_and_leaves_nothing(gate, body: dict, field: str) -> None:
    answer = await gate.as_agent.post("/v1/actions", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["error"]["details"]["field"] == field
    assert (await gate.as_agent.get("/v1/actions")).json()["pagination"]["total"] == 0


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"tool":"read","tool":"wipe","operation":"x","params":{}}'])
async def test_what_is_not_one_json_object_is_refused(gate, body: bytes) -> None:
    assert (await gate.as_agent.post("/v1/actions", content=body)).status_code == 400


async def test_sub_actions_are_counted(gate) -> None:
    parent = (await _submit(gate.as_agent, _READ)).json()["id"]
    child = await _submit(gate.as_agent, _READ, parentActionId=parent, delegationContext={"stepName": "s"})
    assert child.status_code == 201
    assert (await gate.as_agent.get(f"/v1/actions/{parent}")).json()["delegation_count"] == 1
    detail = (await gate.as_agent.get(f"/v1/actions/{child.json()['id']}?expand=all")).json()
    assert (detail["parent_action_id"], detail["request"]["delegation"]["stepName"]) == (parent, "s")


async def test_another_agent_or_organization_sees_nothing(gate, new_gate) -> None:
    mine = (await _submit(gate.as_agent, _READ)).json()["id"]
    stranger = await new_gate()
    for client in (stranger.as_agent, stranger.person()):
        answer = await client.get(f"/v1/actions/{mine}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
        assert (await client.get("/v1/actions")).json()["data"] == []
    colleague = (await gate.person().post("/admin/agents", json={"name": "Other"})).json()
    other = gate.client(X_Agent_Key=colleague["api_key"]["key"])
    assert (await other.get(f"/v1/actions/{mine}")).status_code == 404
    assert (await other.get("/v1/actions", params={"agent_id": gate.agent_id})).status_code == 404
    assert (await other.get("/v1/actions")).json()["data"] == []
    assert (await gate.person(role=Role.VIEWER).get(f"/v1/actions/{mine}")).status_code == 200


async def test_lists_filter_and_page(gate) -> None:
    ids = [(await _submit(gate.as_agent, body)).json()["id"] for body in (_READ, _WRITE, _READ)]
    page = (await gate.as_agent.get("/v1/actions", params={"limit": 2})).json()
    assert [one["id"] for one in page["data"]] == [ids[2], ids[1]]
    assert page["pagination"] == {"total": 3, "limit": 2, "offset": 0, "next_cursor": ids[1]}
    rest = (await gate.as_agent.get("/v1/actions", params={"limit": 2, "cursor": ids[1]})).json()
    assert [one["id"] for one in rest["data"]] == [ids[0]]
    assert rest["pagination"]["next_cursor"] is None
    held = (await gate.as_agent.get("/v1/actions", params={"status": "pending_approval"})).json()
    assert [one["id"] for one in held["data"]] == [ids[1]]
    assert (await gate.as_agent.get("/v1/actions", params={"status": "succeeded"})).json()["data"] == []
    by_agent = (await gate.person().get("/v1/actions", params={"agent_id": gate.agent_id})).json()
    assert by_agent["pagination"]["total"] == 3
    camel = (await gate.as_agent.get("/v1/actions", params={"shape": "camel", "page": 2, "pageSize": 2})).json()
    assert camel["pagination"] == {"total": 3, "page": 2, "pageSize": 2, "totalPages": 2}
    assert [one["id"] for one in camel["data"]] == [ids[0]]
    # No parameter is ignored: the smaller size counts, and offset goes on from the beginning of the page.
    for query, found in (
        ("page=2&limit=1", [ids[1]]), ("page=1&pageSize=2&limit=1", [ids[2]]), ("page=1&offset=1", [ids[1], ids[0]]),
        (f"cursor={ids[2]}&offset=1", [ids[0]]), ("pageSize=1&offset=2", [ids[0]]),
    ):  # fmt: skip
        assert [one["id"] for one in (await gate.as_agent.get(f"/v1/actions?{query}")).json()["data"]] == found, query


@pytest.mark.parametrize(
    "query",
    ["status=done", "limit=0", "limit=201", "offset=-1", "cursor=x", "agent_id=x", "wait=1&limit=x", "status=%00",
     "no_such=1", "limit=1&limit=2", "page=0", "pageSize=201", "shape=snake"],
)  # fmt: skip
async def test_bad_queries_are_refused(gate, query: str) -> None:
    answer = await gate.as_agent.get(f"/v1/actions?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("action_id", ["x", "%00", "apr_01a1fd50-e485-7f6d-be55-6cc52bfd60ed"])
async def test_what_is_no_action_id_names_nothing(gate, action_id: str) -> None:
    assert (await gate.as_agent.get(f"/v1/actions/{action_id}")).status_code == 404


async def test_waiting_ends_with_the_decision(gate) -> None:
    held = (await _submit(gate.as_agent, _WRITE)).json()
    started = asyncio.get_running_loop().time()

    async def approve() -> None:
        await asyncio.sleep(0.7)
        answer = await gate.person().post(f"/v1/approvals/{held['approval_id']}/approve", json={"comment": "fine"})
        assert answer.status_code == 200

    waited, _ = await asyncio.gather(gate.as_agent.get(f"/v1/actions/{held['id']}?wait=20"), approve())
    assert 0.6 < asyncio.get_running_loop().time() - started < 5
    body = waited.json()
    assert body["status"] == "approved"
    assert body["approval"]["status"] == "approved"
    assert body["approval"]["decided_at"] is not None


async def test_waiting_ends_with_the_time(gate) -> None:
    held = (await _submit(gate.as_agent, _WRITE)).json()
    assert (await gate.as_agent.get(f"/v1/actions/{held['id']}?wait=1")).json()["status"] == "pending_approval"
    assert (await gate.as_agent.get(f"/v1/actions/{held['id']}?wait=61")).status_code == 400


async def test_only_agents_propose(gate) -> None:
    for client in (gate.person(), await gate.key(Scope.ACTIONS_WRITE)):
        answer = await _submit(client, _READ)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")


async def test_an_execution_shows_how_it_ended(gate, execute, worker_database) -> None:
    class _Organization:
        org_id, agent_id = gate.org_id, gate.agent_id

    async with gate.api.dependencies.database.transaction(gate.org_id) as connection:
        row = await (await connection.execute("SELECT generation FROM org_state")).fetchone()
    running = await execute(
        _Organization, "ins_gone", started_at=datetime.now(UTC) - timedelta(minutes=1), generation=row["generation"]
    )
    assert (await gate.as_agent.get(f"/v1/actions/{running.action_id}")).json()["status"] == "executing"
    await close_orphans(worker_database, system_clock)
    detail = (await gate.as_agent.get(f"/v1/actions/{running.action_id}")).json()
    assert detail["status"] == "failed"
    assert (detail["execution"]["status"], detail["execution"]["attempts"]) == ("failed", 1)
    assert detail["execution"]["error"].startswith("outcome unknown")
