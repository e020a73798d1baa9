"""What a reviewer made of an action is what runs, once, and nothing of what was asked for instead."""

import json

import pytest

ORDER = {"tool": "shop", "operation": "create_order", "params": {"item": "book", "count": 100}}
EDITED = {"item": "book", "count": 1}
REGO = """package gate

require_approval if input.http.method == "POST"

deny contains "nobody orders swords" if input.params.item == "sword"
"""


@pytest.fixture
async def held(new_gate, reach):
    gate = await new_gate(REGO)
    await reach(gate)
    return gate


async def _approve(gate, approval_id: str, params: dict):
    return await gate.person().post(f"/v1/approvals/{approval_id}/approve", json={"params": params})


async def test_the_edited_call_is_sent(held, working, service, ended) -> None:
    answer = (await held.as_agent.post("/v1/actions", json=ORDER)).json()
    async with working():
        approved = await _approve(held, answer["approval_id"], EDITED)
        assert (approved.status_code, approved.json()["status"]) == (200, "approved"), approved.text
        action = await ended(held.as_agent, answer["id"])
    assert (action["status"], action["approved_params"]) == ("completed", EDITED)
    assert action["request"]["params"] == ORDER["params"]
    [(method, path, _, body)] = service.requests
    assert (method, path, json.loads(body)) == ("POST", "/orders", EDITED)


async def test_a_refused_edit_leaves_the_call_as_it_was(held, working, service, ended) -> None:
    answer = (await held.as_agent.post("/v1/actions", json=ORDER)).json()
    refused = await _approve(held, answer["approval_id"], {"item": "sword", "count": 1})
    assert (refused.status_code, "nobody orders swords" in refused.text) == (403, True)
    async with working():
        approved = await held.person().post(f"/v1/approvals/{answer['approval_id']}/approve", json={})
        assert approved.status_code == 200
        action = await ended(held.as_agent, answer["id"])
    assert (action["status"], action["approved_params"]) == ("completed", None)
    assert [json.loads(body) for _, _, _, body in service.requests] == [ORDER["params"]]


async def test_policies_that_have_changed_stop_an_edited_action_too(held, working, service, ended) -> None:
    answer = (await held.as_agent.post("/v1/actions", json=ORDER)).json()
    assert (await _approve(held, answer["approval_id"], EDITED)).status_code == 200
    later = {"name": "no more", "priority": 1, "rego_policy": 'package late\n\ndeny if input.params.item == "book"\n'}
    assert (await held.person().post("/admin/policies", json=later)).status_code == 201
    async with working():
        action = await ended(held.as_agent, answer["id"])
    assert (action["status"], service.requests) == ("failed", [])
    assert "denied by the current policies" in action["execution"]["error"]


async def test_a_reassigned_approval_is_the_one_that_the_policies_ask_for(
    new_gate, reach, working, service, ended
) -> None:
    """Whom a person asked instead is no reason to ask anew."""
    gate = await new_gate(
        'package gate\n\nrequire_approval if input.http.method == "POST"\n\n'
        'approval := {"assignees": ["alice@example.com"]}\n'
    )
    await reach(gate)
    answer = (await gate.as_agent.post("/v1/actions", json=ORDER)).json()
    route = f"/v1/approvals/{answer['approval_id']}"
    given = await gate.person().post(f"{route}/reassign", json={"assignees": ["bob@example.com"], "comment": "away"})
    assert given.status_code == 200, given.text
    assert (await gate.person("bob").post(f"{route}/approve", json={})).json()["status"] == "approved"
    async with working():
        action = await ended(gate.as_agent, answer["id"])
    assert (action["status"], len(service.requests)) == ("completed", 1)
