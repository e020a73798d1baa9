"""POST /v1/actions/{id}/take: current policies decide again, and an approval passes one call once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from headgate.executions.close_orphans import close_orphans
from headgate.kernel.clock import system_clock
from headgate.reconciliation.reconcile import reconcile

WRITE: dict[str, Any] = {"tool": "write", "operation": "rows", "params": {"n": 1}, "context": {"mcp": {"method": "x"}}}
LATER = {"priority": 1, "name": "later"}


async def approved(gate: Any, **body: object) -> dict[str, Any]:
    action = (await gate.as_agent.post("/v1/actions", json=WRITE)).json()
    assert action["status"] == "pending_approval", action
    answer = await gate.person().post(f"/v1/approvals/{action['approval_id']}/approve", json=body)
    assert answer.status_code == 200, answer.text
    return action  # type: ignore[no-any-return] - JSON


async def take(gate: Any, action: dict[str, Any], body: dict[str, Any] = WRITE) -> Any:
    return await gate.as_agent.post(f"/v1/actions/{action['id']}/take", json=body)


@pytest.fixture
async def owner(cluster) -> AsyncIterator[Any]:
    connection = await psycopg.AsyncConnection.connect(
        cluster.dsn("postgres"), row_factory=dict_row, prepare_threshold=None, autocommit=True
    )
    async with connection:
        yield connection


async def test_an_approval_is_taken_once_and_ends_with_its_outcome(gate, owner) -> None:
    action = await approved(gate)
    answer = await take(gate, action)
    assert answer.status_code == 200, answer.text
    taken = answer.json()
    assert (taken["id"], taken["approved_params"]) == (action["id"], None)
    shown = (await gate.as_agent.get(f"/v1/actions/{action['id']}")).json()
    assert (shown["status"], shown["execution"]["status"]) == ("executing", "running")
    assert (await take(gate, action)).status_code == 409
    found = await reconcile(owner, gate.org_id)
    assert (found.actions, found.differences) == (1, ()), "the tables are what the record says"
    told = {"status": "succeeded", "result": {"rows": 1}}
    ended = await gate.as_agent.post(f"/v1/actions/{action['id']}/outcome", json=told)
    assert (ended.status_code, ended.json()["status"]) == (200, "completed"), ended.text
    assert ended.json()["execution"]["id"] == taken["execution_id"]
    assert (await gate.as_agent.post(f"/v1/actions/{action['id']}/outcome", json=told)).status_code == 409
    assert (await take(gate, action)).status_code == 409
    assert (await reconcile(owner, gate.org_id)).differences == ()
    events = (await gate.person().get("/admin/audit", params={"action_id": action["id"], "limit": 50})).json()["data"]
    assert [one["event_type"] for one in reversed(events)] == [
        "action.submitted", "decision.made", "approval.requested", "approval.approved",
        "decision.made", "execution.started", "execution.completed",
    ]  # fmt: skip


async def test_of_many_at_once_one_takes_it(gate) -> None:
    for _ in range(3):
        action = await approved(gate)
        answers = await asyncio.gather(*[take(gate, action) for _ in range(12)])
        assert sorted(one.status_code for one in answers) == [200] + [409] * 11


async def test_of_many_at_once_one_tells_the_outcome_and_the_others_learn_the_status(gate) -> None:
    action = await approved(gate)
    assert (await take(gate, action)).status_code == 200
    route = f"/v1/actions/{action['id']}/outcome"
    answers = await asyncio.gather(*[gate.as_agent.post(route, json={"status": "succeeded"}) for _ in range(8)])
    refused = [one.json()["error"]["details"] for one in answers if one.status_code == 409]
    assert (len(refused), {one["status"] for one in refused}) == (7, {"completed"})


@pytest.mark.parametrize(
    "rego",
    ['deny contains "not any more" if input.tool == "write"', 'deny contains "n" if input.context.mcp.method == "x"'],
)
async def test_the_policies_of_now_deny(gate, rego: str) -> None:
    action = await approved(gate)
    made = await gate.person().post("/admin/policies", json={**LATER, "rego_policy": f"package later\n\n{rego}\n"})
    assert made.status_code == 201, made.text
    refused = await take(gate, action)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "ACTION_DENIED")
    denied = (await gate.as_agent.get(f"/v1/actions/{refused.json()['error']['details']['action_id']}")).json()
    assert (denied["status"], denied["tool"]) == ("denied", "write"), "it is on record"
    assert (await gate.as_agent.get(f"/v1/actions/{action['id']}")).json()["status"] == "approved"
    gone = await gate.person().delete(f"/admin/policies/{made.json()['id']}")
    assert gone.status_code < 300, gone.text
    assert (await take(gate, action)).status_code == 200, "the approval was not used"


async def test_the_policies_of_now_ask_for_more(gate) -> None:
    action = await approved(gate)
    rego = 'package later\n\nrequire_approval if input.tool == "write"\n\napproval := {"required_approvals": 2}\n'
    made = await gate.person().post("/admin/policies", json={**LATER, "rego_policy": rego})
    assert made.status_code == 201, made.text
    refused = await take(gate, action)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")


async def test_a_stop_is_for_what_is_approved(gate) -> None:
    action = await approved(gate)
    stop = {"scope": "tool", "target": "write", "reason": "an incident"}
    assert (await gate.person().put("/admin/settings/kill-switch", json=stop)).status_code == 200
    refused = await take(gate, action)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "ACTION_DENIED")


@pytest.mark.parametrize(
    "other",
    [
        {"params": {"n": 2}},
        {"params": {"n": 1.5}},
        {"params": {"n": True}},
        {"context": {"mcp": {"method": "y"}}},
        {"context": {}},
        {"operation": "other"},
        {"tool": "read"},
    ],
)
async def test_only_what_was_approved_is_taken(gate, other: dict[str, Any]) -> None:
    action = await approved(gate)
    assert (await take(gate, action, WRITE | other)).status_code == 409
    assert (await take(gate, action)).status_code == 200


async def test_what_a_reviewer_edited_is_taken(gate) -> None:
    action = await approved(gate, params={"n": 7})
    assert (await take(gate, action, WRITE | {"params": {"n": 7}})).status_code == 409
    taken = await take(gate, action)
    assert (taken.status_code, taken.json()["approved_params"]) == (200, {"n": 7}), taken.text


async def test_what_is_not_approved_is_not_taken(gate, new_gate) -> None:
    pending = (await gate.as_agent.post("/v1/actions", json=WRITE)).json()
    assert (await take(gate, pending)).status_code == 409
    await gate.person().post(f"/v1/approvals/{pending['approval_id']}/deny", json={"reason": "no"})
    assert (await take(gate, pending)).status_code == 409
    allowed_body = WRITE | {"tool": "read"}
    allowed = (await gate.as_agent.post("/v1/actions", json=allowed_body)).json()
    assert (await take(gate, allowed, allowed_body)).status_code == 409
    action = await approved(gate)
    assert (await take(await new_gate(), action)).status_code == 404
    assert (await gate.person().post(f"/v1/actions/{action['id']}/take", json=WRITE)).status_code == 403


async def test_an_approval_that_ends_is_not_taken(gate, owner) -> None:
    action = await approved(gate)
    await owner.execute(
        "UPDATE approvals SET expires_at = now() - interval '1 minute', decided_at = now() - interval '16 minutes'"
        " WHERE approval_id = %s",
        [action["approval_id"]],
    )
    assert (await take(gate, action)).status_code == 409


async def test_what_is_never_reported_fails_after_a_day(gate, owner, worker_database) -> None:
    action = await approved(gate)
    taken = (await take(gate, action)).json()
    await close_orphans(worker_database, system_clock)
    shown = (await gate.as_agent.get(f"/v1/actions/{action['id']}")).json()
    assert shown["status"] == "executing"
    await owner.execute(
        "UPDATE executions SET started_at = now() - interval '25 hours' WHERE execution_id = %s",
        [taken["execution_id"]],
    )
    await close_orphans(worker_database, system_clock)
    shown = (await gate.as_agent.get(f"/v1/actions/{action['id']}")).json()
    assert shown["status"] == "failed"
    assert shown["execution"]["error"].startswith("outcome unknown")
    late = await gate.as_agent.post(f"/v1/actions/{action['id']}/outcome", json={"status": "succeeded"})
    assert late.status_code == 409
