"""Stops and decisions on approvals, while an organization uses the API's connections to the database."""

import asyncio
from contextlib import asynccontextmanager

import pytest

_WRITE = {"tool": "write", "operation": "line", "params": {"text": "x"}}


@asynccontextmanager
async def _slow_searches(gate, count: int = 16):
    """As many transactions of the organization as it can have, as slow searches hold them."""
    database, done = gate.api.dependencies.database, asyncio.Event()
    begun = 0

    async def search() -> None:
        nonlocal begun
        async with database.transaction(gate.org_id):
            begun += 1
            await done.wait()

    searches = [asyncio.create_task(search()) for _ in range(count)]
    while database.pool_figures().waiting < count - begun:
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        done.set()
        await asyncio.gather(*searches, return_exceptions=True)


@pytest.mark.own_api
@pytest.mark.parametrize("others", [True, False], ids=["several organizations", "one organization"])
async def test_a_stop_and_a_decision_find_a_connection(gate, new_gate, others) -> None:
    victim = await new_gate() if others else gate
    person = victim.person()
    held = (await victim.as_agent.post("/v1/actions", json=_WRITE)).json()["approval_id"]
    key = (await person.post("/admin/keys", json={"name": "k", "scopes": ["actions:read"]})).json()
    given = {"agent_id": victim.agent_id, "tool": "write", "operation": "line", "reason": "x"}
    grant = await person.post(
        "/admin/grants", json=given | {"max_uses": 2, "expires_in_seconds": 600, "conditions": []}
    )
    assert grant.status_code == 201, grant.text
    async with _slow_searches(gate):
        stop = {"scope": "organization", "reason": "attack", "stopped": True}
        assert (await person.put("/admin/settings/kill-switch", json=stop)).status_code == 200
        assert (await person.post(f"/admin/agents/{victim.agent_id}/suspend", json={"reason": "x"})).status_code == 200
        assert (await person.delete(f"/admin/keys/{key['id']}")).status_code == 200
        assert (await person.delete(f"/admin/grants/{grant.json()['id']}", params={"reason": "x"})).status_code == 200
        assert (await person.delete("/auth/sessions")).status_code == 200
        assert (await person.get("/stop")).status_code == 200
        assert (await person.post(f"/v1/approvals/{held}/deny", json={"reason": "no"})).status_code == 200
        if others:
            # What is not urgent works, too: the organization has three quarters.
            assert (await person.get("/admin/agents")).status_code == 200


@pytest.mark.own_api
async def test_who_has_its_share_is_told_so(gate) -> None:
    person = gate.person()
    assert (await person.get("/admin/agents")).status_code == 200
    async with _slow_searches(gate):
        refused = await person.get("/admin/agents")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "connection to the database" in refused.json()["error"]["message"]
