"""/admin/mcp-tools: looking at tools that have changed, and accepting them."""

import pytest

from headgate.kernel.clock import system_clock
from headgate.mcp_tools.model import definitions
from headgate.mcp_tools.store import note_tools
from headgate.organizations.model import Role
from headgate.protocols.mcp_tool_list import OfferedTool


@pytest.fixture
def see(gate):
    async def note(name: str, **members: str) -> None:
        listed = definitions([OfferedTool(name, {"name": name, **members})])

        async def work(connection):
            return await note_tools(
                connection,
                gate.org_id,
                "mcp_example",
                listed,
                agent_id=gate.agent_id,
                action_id=None,
                at=system_clock(),
            )

        await gate.api.in_transaction(gate.org_id, work)

    return note


async def test_a_changed_tool_is_read_and_accepted(gate, see) -> None:
    await see("read", description="Reads.")
    await see("mail", description="Sends.")
    await see("mail", description="Sends, and more.")
    admin = gate.person()
    listed = (await admin.get("/admin/mcp-tools")).json()
    assert [one["name"] for one in listed["data"]] == ["mail", "read"]
    [changed] = (await admin.get("/admin/mcp-tools", params={"changed": "true"})).json()["data"]
    assert changed["server"] == "mcp_example"
    seen = (await admin.get(f"/admin/mcp-tools/{changed['id']}")).json()
    assert seen["accepted_definition"] == {"name": "mail", "description": "Sends."}
    assert seen["seen_definition"] == {"name": "mail", "description": "Sends, and more."}
    path = f"/admin/mcp-tools/{changed['id']}/accept"
    wrong = await admin.post(path, json={"sha256": seen["accepted_sha256"]})
    assert (wrong.status_code, wrong.json()["error"]["details"]) == (409, {"seen_sha256": seen["seen_sha256"]})
    accepted = await admin.post(path, json={"sha256": seen["seen_sha256"]})
    assert accepted.status_code == 200, accepted.text
    assert (accepted.json()["changed_at"], accepted.json()["accepted_sha256"]) == (None, seen["seen_sha256"])
    [event, *_] = (await admin.get("/admin/audit", params={"event_type": "mcp_tool.accepted"})).json()["data"]
    assert event["data"]["name"] == "mail"
    assert event["actor"]["type"] == "user"


async def test_a_server_is_forgotten(gate, see) -> None:
    await see("mail")
    admin = gate.person()
    assert (await admin.delete("/admin/mcp-tools")).status_code == 400
    answer = await admin.delete("/admin/mcp-tools", params={"server": "mcp_example"})
    assert answer.json() == {"server": "mcp_example", "forgotten": 1}
    assert (await admin.get("/admin/mcp-tools")).json()["data"] == []
    assert (await admin.delete("/admin/mcp-tools", params={"server": "mcp_example"})).status_code == 404


@pytest.mark.parametrize("sha256", ["", "sha256:", "sha256:" + "A" * 64, "0" * 64])
async def test_what_is_no_digest_is_refused(gate, see, sha256) -> None:
    await see("mail")
    [tool] = (await gate.person().get("/admin/mcp-tools")).json()["data"]
    answer = await gate.person().post(f"/admin/mcp-tools/{tool['id']}/accept", json={"sha256": sha256})
    assert answer.status_code == 400


async def test_a_reader_of_policies_looks_and_accepts_nothing(gate, see) -> None:
    await see("mail", description="a")
    await see("mail", description="b")
    reader = gate.person("bob", Role.AUDITOR)
    [tool] = (await reader.get("/admin/mcp-tools", params={"server": "mcp_example"})).json()["data"]
    refused = await reader.post(f"/admin/mcp-tools/{tool['id']}/accept", json={"sha256": tool["seen_sha256"]})
    assert refused.status_code == 403
    assert refused.json()["error"]["details"]["missing_scope"] == "policies:write"
    assert (await gate.as_agent.get("/admin/mcp-tools")).status_code in (401, 403)


def offered(*names: str) -> dict[str, object]:
    return {"server": "mcp_files", "tools": [{"name": name, "description": f"About {name}."} for name in names]}


async def test_an_agent_asks_what_it_is_offered(new_gate) -> None:
    gate = await new_gate('package gate\n\nallow if input.tool == "mcp_files"\n\ndeny if input.mcp.name == "drop"\n')
    answer = (await gate.as_agent.post("/v1/mcp-tools/offer", json=offered("read", "drop"))).json()
    assert [one["name"] for one in answer["left_out"]] == ["drop"]
    assert (answer["first_seen"], answer["changed"], answer["withheld"]) == (2, [], None)
    changed = offered("read")
    changed["tools"][0]["description"] = "Another text."  # type: ignore[index]
    assert (await gate.as_agent.post("/v1/mcp-tools/offer", json=changed)).json()["changed"] == ["read"]
    [tool] = (await gate.person().get("/admin/mcp-tools", params={"changed": "true"})).json()["data"]
    assert tool["server"] == f"{gate.agent_id}/mcp_files"
    listed = await gate.person().get("/admin/mcp-tools", params={"server": tool["server"]})
    assert {one["name"] for one in listed.json()["data"]} == {"read", "drop"}


async def test_a_changed_tool_of_an_agents_own_server_is_read_by_policies(new_gate) -> None:
    gate = await new_gate("package gate\n\nallow := true\n\ndeny if input.mcp.tool_changed\n")
    told = {"mcp": {"method": "tools/call", "name": "read", "params": {}}}
    call = {"tool": "mcp_files", "operation": "read", "params": {}, "context": told}
    await gate.as_agent.post("/v1/mcp-tools/offer", json=offered("read"))
    assert (await gate.as_agent.post("/v1/actions", json=call)).json()["status"] == "allowed"
    changed = offered("read")
    changed["tools"][0]["description"] = "Another text."  # type: ignore[index]
    answer = (await gate.as_agent.post("/v1/mcp-tools/offer", json=changed)).json()
    assert [one["name"] for one in answer["left_out"]] == ["read"]
    assert (await gate.as_agent.post("/v1/actions", json=call)).json()["status"] == "denied"
    elsewhere = call | {"tool": "mcp_other"}
    assert (await gate.as_agent.post("/v1/actions", json=elsewhere)).json()["status"] == "allowed"


@pytest.mark.parametrize(
    "body",
    [
        {"server": "files", "tools": []},
        {"server": "mcp_files", "tools": [{"title": "no name"}]},
        {"server": "mcp_files", "tools": [{"name": "a\u200b"}]},
        {"server": "mcp_files", "tools": ["a"]},
        {"server": "mcp_files"},
    ],
)
async def test_what_is_no_list_of_tools(gate, body) -> None:
    assert (await gate.as_agent.post("/v1/mcp-tools/offer", json=body)).status_code == 400


async def test_only_agents_are_offered_tools(gate) -> None:
    assert (await gate.person().post("/v1/mcp-tools/offer", json=offered("read"))).status_code == 403
