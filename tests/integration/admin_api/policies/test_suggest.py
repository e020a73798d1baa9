"""From recorded traffic to a policy that passes its own tests and decides as was decided."""

import asyncio
import time

from headgate.policies import suggest_from_actions as suggest_policy


async def submit(gate, tool: str, **params: object) -> dict[str, object]:
    action = {"tool": tool, "operation": "it", "params": params}
    return (await gate.as_agent.post("/v1/actions", json=action)).json()


async def test_what_was_carried_out_is_allowed_and_nothing_else(gate) -> None:
    admin = gate.person()
    for name in ("a", "b", "a"):
        await submit(gate, "read", name=name)
    await submit(gate, "wipe")
    approved, denied = [await submit(gate, "write", name=name) for name in ("x", "y")]
    await submit(gate, "write", name="open")
    await admin.post(f"/v1/approvals/{approved['approval_id']}/approve", json={"comment": "yes"})
    await admin.post(f"/v1/approvals/{denied['approval_id']}/deny", json={"reason": "no"})

    answer = await admin.post("/admin/policies/suggest", json={"name": "Robot's work"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["seen"], found["covered"], found["leaves_out"], found["leaves_open"]) == (4, 4, [], [])
    tested = {"name": "s", "rego_policy": found["rego_policy"], "cases": found["cases"]}
    assert (await admin.post("/admin/policies/test", json={"policies": [tested]})).json()["passed"]
    assert (await admin.get("/admin/policies")).json()["pagination"]["total"] == 1

    [policy] = (await admin.get("/admin/policies")).json()["data"]
    saved = await admin.patch(f"/admin/policies/{policy['id']}", json={"rego_policy": found["rego_policy"]})
    assert (saved.status_code, saved.json()["warnings"]) == (200, [])
    statuses = [(await submit(gate, tool, name=name))["status"] for tool, name in (
        ("read", "a"), ("read", "b"), ("read", "c"), ("write", "x"), ("write", "y"), ("wipe", "a"),
    )]  # fmt: skip
    assert statuses == ["allowed", "allowed", "denied", "allowed", "denied", "denied"]


async def test_an_organization_suggests_from_its_own_traffic(gate, new_gate) -> None:
    await submit(gate, "read", name="a")
    found = (await (await new_gate()).person().post("/admin/policies/suggest", json={})).json()
    assert (found["seen"], found["cases"]) == (0, [])


async def test_more_than_fits_into_memory_is_refused(gate, monkeypatch) -> None:
    monkeypatch.setattr(suggest_policy, "_MOST_BYTES", 1 << 20)
    for name in ("a", "b", "c"):
        await submit(gate, "read", name=name * 400_000)

    refused = await gate.person().post("/admin/policies/suggest", json={})
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "limit")
    fewer = await gate.person().post("/admin/policies/suggest", json={"limit": 2})
    assert (fewer.status_code, fewer.json()["seen"]) == (200, 2)


async def test_the_loop_goes_on_while_a_suggestion_is_made(gate, monkeypatch) -> None:
    """Else every agent whose action is decided here would wait for it."""
    made, turns = suggest_policy.suggest, 0

    def slowly(*arguments, **named):
        time.sleep(0.3)
        return made(*arguments, **named)

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    monkeypatch.setattr(suggest_policy, "suggest", slowly)
    async with asyncio.TaskGroup() as group:
        turning = group.create_task(turn())
        before = turns
        answer = await gate.person().post("/admin/policies/suggest", json={})
        turning.cancel()
    assert answer.status_code == 200
    assert turns - before > 10
