"""A policy that only watches: recorded beside the decision, counted, and never deciding."""

import asyncio
import time
from types import SimpleNamespace

import pytest

DENIES = 'package watch\n\ndeny contains "not reads" if input.tool == "read"\n\nallow if input.tool == "other"\n'


async def shadow_of(admin, policy_id: str, asked: int) -> dict[str, object]:
    for _ in range(100):
        shadow = (await admin.get(f"/admin/policies/{policy_id}")).json()["shadow"]
        if shadow["asked"] >= asked:
            return shadow
        await asyncio.sleep(0.05)
    raise AssertionError(f"{asked} calls were never counted: {shadow}")


async def submit(agent, tool: str) -> dict[str, object]:
    answer = await agent.post("/v1/actions", json={"tool": tool, "operation": "it", "params": {}})
    assert answer.status_code in (201, 202), answer.text
    return answer.json()


async def test_it_is_recorded_beside_the_decision_and_decides_nothing(gate) -> None:
    admin, agent = gate.person(), gate.as_agent
    body = {"name": "Watch", "rego_policy": DENIES, "mode": "shadow", "priority": 1}
    policy = (await admin.post("/admin/policies", json=body)).json()
    assert (policy["mode"], policy["warnings"]) == ("shadow", [])
    read, write, other = [await submit(agent, tool) for tool in ("read", "write", "other")]
    assert [one["status"] for one in (read, write, other)] == ["allowed", "pending_approval", "denied"]

    shadow = await shadow_of(admin, policy["id"], 3)
    assert shadow["said"] == {"deny": 1, "none": 1, "allow": 1}
    assert shadow["changes"] == {"allow -> deny": 1, "deny -> allow": 1}
    assert (shadow["asked"], shadow["would_change"]) == (3, 2)
    assert shadow["since"] is not None

    events = (await admin.get("/admin/audit", params={"event_type": "decision.shadowed"})).json()["data"]
    said = {one["action_id"]: one["data"] for one in events}
    assert set(said) == {read["id"], other["id"]}
    assert said[read["id"]] == {
        "decision": "allow",
        "policies": [{"id": policy["id"], "version": 1, "decision": "deny", "reason": "not reads", "would": "deny"}],
    }
    metrics = (await admin.get("/health/metrics")).text
    assert 'headgate_api_shadow_verdicts_total{decided="allow",said="deny"}' in metrics


async def test_another_version_starts_counting_anew_and_can_be_enforced(gate) -> None:
    admin, agent = gate.person(), gate.as_agent
    body = {"name": "Watch", "rego_policy": DENIES, "mode": "shadow", "priority": 1}
    policy_id = (await admin.post("/admin/policies", json=body)).json()["id"]
    await submit(agent, "read")
    await shadow_of(admin, policy_id, 1)
    await admin.patch(f"/admin/policies/{policy_id}", json={"priority": 2})
    assert (await shadow_of(admin, policy_id, 0))["asked"] == 0
    enforced = (await admin.patch(f"/admin/policies/{policy_id}", json={"mode": "enforce"})).json()
    assert "shadow" not in (await admin.get(f"/admin/policies/{policy_id}")).json()
    assert enforced["mode"] == "enforce"
    assert (await submit(agent, "read"))["status"] == "denied"


@pytest.mark.own_api
async def test_without_one_nothing_is_queued_and_it_costs_a_look_up(gate) -> None:
    await submit(gate.as_agent, "read")
    shadow = gate.api.dependencies.submit_action._shadow
    assert not shadow.__self__._queue
    decided = SimpleNamespace(identity=SimpleNamespace(org_id=gate.org_id), candidate=None)
    began = time.perf_counter()
    for _ in range(10_000):
        shadow(decided, "act_1", None)
    assert (time.perf_counter() - began) / 10_000 < 20e-6  # measured 0.2 µs; the bound is for a busy machine
    assert not shadow.__self__._queue


async def test_what_cannot_be_written_is_kept_for_later(gate, superuser) -> None:
    admin, agent = gate.person(), gate.as_agent
    body = {"name": "Watch", "rego_policy": DENIES, "mode": "shadow"}
    policy_id = (await admin.post("/admin/policies", json=body)).json()["id"]
    signature = superuser.execute(
        "SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'record_shadow'"
    ).fetchone()[0]
    superuser.execute(f"ALTER FUNCTION {signature} RENAME TO record_shadow_elsewhere")
    try:
        assert (await submit(agent, "read"))["status"] == "allowed"
        await asyncio.sleep(1.2)
        assert (await shadow_of(admin, policy_id, 0))["asked"] == 0
    finally:
        elsewhere = signature.replace("record_shadow", "record_shadow_elsewhere")
        superuser.execute(f"ALTER FUNCTION {elsewhere} RENAME TO record_shadow")
    assert (await shadow_of(admin, policy_id, 1))["said"] == {"deny": 1}
