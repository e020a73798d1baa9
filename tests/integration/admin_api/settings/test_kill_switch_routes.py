"""The kill switch over HTTP: what it refuses, who sees it, how it is lifted, and what the record says."""

import pytest

from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.journal.apply import apply_before_reading
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

PATH = "/admin/settings/kill-switch"


async def decision(agent, tool: str = "read") -> tuple[str, str]:
    answer = await agent.post("/v1/actions", json={"tool": tool, "operation": "run", "params": {}})
    assert answer.status_code in (201, 202), answer.text
    made = answer.json()["decision"]
    return made["decision"], made["reason"]


@pytest.mark.parametrize("scope", ["organization", "agent", "tool"])
async def test_what_is_stopped_is_refused_until_it_is_lifted(gate, new_gate, scope: str) -> None:
    admin, agent, other = gate.person(), gate.as_agent, (await new_gate()).as_agent
    target = {"organization": None, "agent": gate.agent_id, "tool": "read"}[scope]
    assert (await decision(agent))[0] == "allow"
    stopped = await admin.put(PATH, json={"scope": scope, "target": target, "reason": "it sends spam"})
    assert stopped.status_code == 200, stopped.text
    assert [(one["scope"], one["target"], one["stopped_by"]) for one in stopped.json()["stops"]] == [
        (scope, target, "alice@example.com")
    ]
    verdict, reason = await decision(agent)
    assert (verdict, reason.endswith("is stopped: it sends spam")) == ("deny", True)
    if scope == "tool":
        assert (await decision(agent, "write"))[0] == "require_approval"
    assert (await decision(other))[0] == "allow", "another organization's agent"

    lifting = {"scope": scope, "target": target, "stopped": False}
    assert (await admin.put(PATH, json={**lifting, "reason": "It sends SPAM "})).status_code == 400
    lifted = await admin.put(PATH, json={**lifting, "reason": "fixed in v2"})
    assert (lifted.status_code, lifted.json()) == (200, {"stops": []})
    assert (await decision(agent))[0] == "allow"
    assert (await admin.put(PATH, json={**lifting, "reason": "fixed in v2"})).status_code == 409

    database = gate.api.dependencies.database
    await apply_before_reading(database, gate.org_id)
    async with database.transaction(gate.org_id) as connection:
        events = (await list_events(connection, gate.org_id, EventFilter())).events
    told = {event.event_type: event.data for event in events if event.event_type.startswith("stop.")}
    assert told == {
        "stop.placed": {"scope": scope, "target": target, "reason": "it sends spam"},
        "stop.lifted": {
            "scope": scope,
            "target": target,
            "reason": "fixed in v2",
            "stopped_for": "it sends spam",
            "stopped_by": "alice@example.com",
        },
    }


@pytest.mark.parametrize("scope", ["organization", "agent", "tool"])
async def test_an_agent_that_is_stopped_is_shown_so(gate, scope: str) -> None:
    """Its own status is active: that alone would look as if it could go on."""
    admin, path = gate.person(), f"/admin/agents/{gate.agent_id}"
    target = {"organization": None, "agent": gate.agent_id, "tool": "read"}[scope]
    told = {"organization": "everything is stopped: spam", "agent": "this agent is stopped: spam", "tool": None}[scope]
    assert (await admin.get(path)).json()["stopped"] is None
    await admin.put(PATH, json={"scope": scope, "target": target, "reason": "spam"})
    agents = (await admin.get("/admin/agents")).json()["data"]
    (listed,) = [one for one in agents if one["id"] == gate.agent_id]
    named = (await admin.put(path, json={"name": "Robot"})).json()
    assert [one["stopped"] for one in ((await admin.get(path)).json(), listed, named)] == [told] * 3
    await admin.put(PATH, json={"scope": scope, "target": target, "stopped": False, "reason": "fixed"})
    assert (await admin.get(path)).json()["stopped"] is None


async def test_an_unreadable_switch_hides_no_agent(gate, superuser) -> None:
    superuser.execute(
        "INSERT INTO settings (org_id, name, document) VALUES (%s, 'kill_switch', '{\"stops\":[{}]}')", [gate.org_id]
    )
    agents = (await gate.person().get("/admin/agents")).json()["data"]
    assert agents and all("unavailable" in one["stopped"] for one in agents)


async def test_an_agents_id_names_it_though_another_agent_is_called_so(gate) -> None:
    admin = gate.person()
    for name in (gate.agent_id, "twin", "twin"):
        assert (await admin.post("/admin/agents", json={"name": name})).status_code == 201
    for target in (gate.agent_id, gate.agent_id.removeprefix("agt_")):
        stopped = await admin.put(PATH, json={"scope": "agent", "target": target, "reason": "it sends spam"})
        assert [one["target"] for one in stopped.json()["stops"]] == [gate.agent_id], stopped.text
        assert (await admin.get("/v1/actions/search", params={"agent": target})).status_code == 200
    twins = await admin.get("/v1/actions/search", params={"agent": "twin"})
    assert (twins.status_code, twins.json()["error"]["details"]["field"]) == (400, "agent"), "as everywhere else"


async def test_health_tells_administrators_and_nobody_else(gate, new_gate) -> None:
    await gate.person().put(PATH, json={"scope": "organization", "reason": "an incident"})
    assert [one["reason"] for one in (await gate.person().get("/health")).json()["stops"]] == ["an incident"]
    assert (await (await new_gate()).person().get("/health")).json()["stops"] == []
    for client in (gate.client(), gate.as_agent, gate.person("victor", Role.VIEWER)):
        answer = await client.get("/health")
        assert (answer.status_code, "incident" in answer.text) == (200, False)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scope": "organization"}, "reason"),
        ({"scope": "organization", "reason": "no"}, "reason"),
        ({"scope": "organization", "reason": "r" * 501}, "reason"),
        ({"scope": "organization", "target": "read", "reason": "because"}, "target"),
        ({"scope": "agent", "reason": "because"}, "target"),
        ({"scope": "tool", "target": "Read!", "reason": "because"}, "target"),
        ({"scope": "world", "reason": "because"}, "scope"),
    ],
)
async def test_what_cannot_be_stopped(gate, body: dict[str, object], field: str) -> None:
    answer = await gate.person().put(PATH, json=body)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, field)


@pytest.mark.parametrize(
    ("reason", "says"), [("no", "at least 3 characters"), ("r" * 501, "at most 500 characters")], ids=["short", "long"]
)
async def test_the_length_of_a_text_is_told_in_characters(gate, reason: str, says: str) -> None:
    answer = await gate.person().put(PATH, json={"scope": "organization", "reason": reason})
    assert says in answer.json()["error"]["message"]


async def test_an_agent_is_stopped_by_its_name(gate, superuser) -> None:
    body = {"scope": "agent", "target": "Mail robot", "reason": "because"}
    rename = "UPDATE agents SET name = 'Mail robot' WHERE org_id = %s AND agent_id = %s"
    superuser.execute(rename, [gate.org_id, gate.agent_id])
    stopped = await gate.person().put(PATH, json=body)
    assert stopped.status_code == 200, stopped.text
    assert [one["target"] for one in stopped.json()["stops"]] == [gate.agent_id]

    others = "SELECT agent_id FROM agents WHERE org_id = %s AND agent_id <> %s"
    (twin,) = superuser.execute(others, [gate.org_id, gate.agent_id]).fetchone()
    superuser.execute(rename, [gate.org_id, twin])
    refused = await gate.person().put(PATH, json=body)
    assert refused.status_code == 400
    assert twin in refused.json()["error"]["message"]


async def test_an_agent_of_nobody_or_of_others_is_not_there(gate, new_organization) -> None:
    for agent_id in (new_id(IdPrefix.AGENT), new_organization().agent_id):
        answer = await gate.person().put(PATH, json={"scope": "agent", "target": agent_id, "reason": "because"})
        assert answer.status_code == 404
    assert (await gate.person().get(PATH)).json() == {"stops": []}


async def test_a_switch_that_cannot_be_read_refuses(gate, superuser) -> None:
    superuser.execute(
        "INSERT INTO settings (org_id, name, document) VALUES (%s, 'kill_switch', '{\"stops\":[{}]}')", [gate.org_id]
    )
    superuser.execute("UPDATE org_state SET generation = generation + 1 WHERE org_id = %s", [gate.org_id])
    answer = await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "run", "params": {}})
    assert answer.status_code == 503
