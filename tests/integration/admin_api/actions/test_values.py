"""What a filter of calls can be completed with."""

import psycopg

from headgate.actions import filter_values
from headgate.kernel.canonical_json import canonical_bytes
from headgate.organizations.model import Role
from tests.integration.conftest import Hold, Organization

_PATH = "/admin/actions/values"


async def _call(gate, tool: str, operation: str) -> None:
    body = {"tool": tool, "operation": operation, "params": {"host": "not-a-host.example"}}
    assert (await gate.as_agent.post("/v1/actions", json=body)).is_success


async def _generation(gate) -> int:
    async with gate.api.dependencies.database.transaction(gate.org_id) as connection:
        row = await (await connection.execute("SELECT generation FROM org_state")).fetchone()
    return int(row["generation"])


async def test_all_agents_and_tools_and_recent_operations_and_hosts(
    gate, hold: Hold, superuser: psycopg.Connection[tuple[object, ...]]
) -> None:
    person = gate.person()
    assert (await person.post("/admin/agents", json={"name": "Night shift"})).is_success
    await _call(gate, "write", "line")
    await _call(gate, "write", "page")
    organization = Organization(gate.org_id, gate.agent_id)
    await hold(organization, source="proxy", tool="http", generation=await _generation(gate))
    request = canonical_bytes({"http": {"host": "api.example.com", "method": "GET"}, "params": {"text": "\0"}}).decode()
    superuser.execute("UPDATE actions SET request = %s WHERE org_id = %s AND source = 'proxy'", [request, gate.org_id])
    found = (await person.get(_PATH)).json()
    assert (found["tools"], found["operations"]) == (["http", "write"], ["line", "page", "send"])
    assert found["hosts"] == ["api.example.com"]
    assert "Night shift" in found["agents"] and len(found["agents"]) == 2


async def test_it_is_bounded(gate, monkeypatch) -> None:
    monkeypatch.setattr(filter_values, "VALUES_MAX", 3)
    for number in range(5):
        await _call(gate, f"tool_{number}", f"operation_{number}")
    found = (await gate.person().get(_PATH)).json()
    assert found["tools"] == ["tool_0", "tool_1", "tool_2"]
    assert found["operations"] == ["operation_0", "operation_1", "operation_2"]


async def test_another_organization_and_an_agent_see_nothing(new_gate) -> None:
    gate, other = await new_gate(), await new_gate()
    await _call(gate, "secret_tool", "line")
    found = (await other.person(Role.VIEWER).get(_PATH)).json()
    assert (found["tools"], found["operations"], found["hosts"]) == ([], [], [])
    assert (await gate.as_agent.get(_PATH)).status_code in (401, 403)
