"""Actions on behalf of others: what is refused, what policies see of the chain, and the tree that people see."""

from typing import Any

import pytest

from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_REGO = """package gate

allow if input.tool == "plan"

allow if {
    input.tool == "read"
    every one in input.delegation.chain { one.agent.name != "Stranger" }
    input.delegation.chain[count(input.delegation.chain) - 1].tool == "plan"
}

deny contains sprintf("%v steps from %v", [input.delegation.depth, input.delegation.chain[0].action_id]) if {
    input.tool == "wipe"
    input.delegation.depth > 1
}
"""


async def _submit(client: Any, tool: str, parent: str | None = None, status: int = 201, **more: object) -> Any:
    body: dict[str, object] = {"tool": tool, "operation": "it", "params": {}, **more}
    if parent is not None:
        body["parentActionId"] = parent
    answer = await client.post("/v1/actions", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture
async def gate(new_gate) -> Any:
    return await new_gate(_REGO)


async def _agent(gate: Any, name: str) -> Any:
    made = (await gate.person().post("/admin/agents", json={"name": name})).json()
    return gate.client(X_Agent_Key=made["api_key"]["key"])


async def test_policies_see_the_whole_chain(gate) -> None:
    plan = await _submit(gate.as_agent, "plan")
    helper, stranger = await _agent(gate, "Helper"), await _agent(gate, "Stranger")
    read = await _submit(helper, "read", plan["id"])
    assert read["status"] == "allowed"
    assert (await _submit(helper, "read"))["status"] == "denied"  # nobody asked for it
    wiped = await _submit(helper, "wipe", read["id"])
    assert (wiped["status"], wiped["decision"]["reason"]) == ("denied", f"2 steps from {read['id']}")
    theirs = await _submit(stranger, "read", plan["id"])
    assert (await _submit(helper, "read", theirs["id"]))["status"] == "denied"


async def test_a_dry_run_sees_it_too(gate) -> None:
    plan = await _submit(gate.as_agent, "plan")
    read = await _submit(gate.as_agent, "read", plan["id"])
    admin = gate.person()
    action = {"tool": "wipe", "operation": "it", "params": {}, "parentActionId": read["id"]}
    answer = await admin.post("/v1/dry-run", json={"action": action})
    assert answer.json()["reason"] == f"2 steps from {read['id']}", answer.text
    nowhere = {**action, "parentActionId": new_id(IdPrefix.ACTION)}
    assert (await admin.post("/v1/dry-run", json={"action": nowhere})).status_code == 400


async def test_a_parent_is_of_the_same_organization(gate, new_gate) -> None:
    theirs = await new_gate(_REGO)
    plan = await _submit(theirs.as_agent, "plan")
    for parent in (plan["id"], new_id(IdPrefix.ACTION)):
        error = (await _submit(gate.as_agent, "plan", parent, 400))["error"]
        assert error["details"] == {"field": "parentActionId", "reason": "no such action"}


async def test_a_chain_has_an_end(gate, superuser) -> None:
    parent, ids = None, []
    for _ in range(9):  # the first and eight below
        parent = (await _submit(gate.as_agent, "plan", parent))["id"]
        ids.append(parent)
    error = (await _submit(gate.as_agent, "plan", parent, 400))["error"]
    assert (error["details"]["reason"], error["details"]["most"]) == ("delegated too deeply", 8)
    # Nobody can make a cycle; somebody may have restored one.
    superuser.execute("UPDATE actions SET parent_action_id = %s WHERE action_id = %s", [ids[1], ids[0]])
    error = (await _submit(gate.as_agent, "plan", ids[1], 400))["error"]
    assert error["details"]["reason"] == "delegated too deeply"
    assert (await gate.as_agent.get(f"/v1/actions/{ids[0]}")).status_code == 200


async def test_the_tree(gate) -> None:
    helper, viewer = await _agent(gate, "Helper"), gate.person("vera", Role.VIEWER)
    plan = await _submit(gate.as_agent, "plan")
    first, second = [await _submit(client, "plan", plan["id"]) for client in (helper, gate.as_agent)]
    leaf = await _submit(gate.as_agent, "plan", first["id"])

    async def seen(client: Any, action: Any) -> Any:
        return (await client.get(f"/v1/actions/{action['id']}?expand=all")).json()

    top = await seen(viewer, plan)
    assert [(one["id"], one["parent_action_id"], one["depth"]) for one in top["delegation"]["sub_actions"]] == [
        (first["id"], plan["id"], 1), (second["id"], plan["id"], 1), (leaf["id"], first["id"], 2),
    ]  # fmt: skip
    assert (top["delegation_count"], top["delegation"]["chain"]) == (2, [])
    bottom = await seen(viewer, leaf)
    assert [(one["id"], one["agent_name"], one["depth"]) for one in bottom["delegation"]["chain"]] == [
        (first["id"], "Helper", 1), (plan["id"], "Robot", 2),
    ]  # fmt: skip
    assert bottom["request"]["delegation"]["depth"] == 2
    assert [one["agent"]["name"] for one in bottom["request"]["delegation"]["chain"]] == ["Helper", "Robot"]
    # An agent sees its own agent's actions only, here as everywhere.
    recorded = (await seen(gate.as_agent, leaf))["request"]["delegation"]
    assert (recorded["parentActionId"], recorded["depth"]) == (first["id"], 2)
    assert [one["action_id"] for one in recorded["chain"]] == [plan["id"]]
    assert [one["id"] for one in (await seen(gate.as_agent, leaf))["delegation"]["chain"]] == [plan["id"]]
    assert [one["id"] for one in (await seen(gate.as_agent, plan))["delegation"]["sub_actions"]] == [second["id"]]
    assert (await seen(viewer, await _submit(gate.as_agent, "plan")))["delegation"] is None


async def test_many_children_are_cut_off(gate, superuser, applied) -> None:
    plan = await _submit(gate.as_agent, "plan")
    one = await _submit(gate.as_agent, "plan", plan["id"])
    await applied()
    superuser.execute(
        "INSERT INTO actions SELECT (a).* FROM (SELECT jsonb_populate_record(a, jsonb_build_object('action_id',"
        " a.action_id || '-' || n)) AS a FROM actions a, generate_series(1, 150) n WHERE a.action_id = %s)",
        [one["id"]],
    )
    detail = (await gate.person().get(f"/v1/actions/{plan['id']}?expand=all")).json()
    assert (detail["delegation_count"], len(detail["delegation"]["sub_actions"])) == (151, 100)
    assert detail["delegation"]["sub_actions_is_minimum"] is True
