"""What would be decided is what is decided; and asking leaves no trace."""

import pytest

SECOND = """package second

deny contains sprintf("%v is too much", [input.params.amount]) if {
	input.tool == "pay"
	limit < input.params.amount
}

require_approval if input.tool == "pay"

limit := 100

risk_level := "critical"

approval := {"required_approvals": 2, "hold_seconds": 1}
"""
FIRST = 'package first\n\nallow if input.agent.name == "Robot"\n\ndeny if input.http.host == "blocked.example"\n'
ACTIONS = [
    {"tool": "read", "operation": "it", "params": {}},
    {"tool": "write", "operation": "it", "params": {"a": [1, "x"]}, "context": {"c": 1}},
    {"tool": "wipe", "operation": "it", "params": {}},
    {"tool": "pay", "operation": "send", "params": {"amount": 50}},
    {"tool": "pay", "operation": "send", "params": {"amount": 500}},
    {"tool": "unknown", "operation": "it", "params": {}, "delegationContext": {"workflowId": "w"}},
]


@pytest.fixture
async def second(gate) -> str:
    body = {"name": "Second", "rego_policy": SECOND, "priority": 50}
    return (await gate.person().post("/admin/policies", json=body)).json()["id"]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda one: f"{one['tool']} {one['params']}")
async def test_it_is_what_the_live_path_decides(gate, second, action) -> None:
    supposed = (await gate.person().post("/v1/dry-run", json={"action": action, "agent_id": gate.agent_id})).json()
    live = (await gate.as_agent.post("/v1/actions", json=action)).json()["decision"]
    assert {name: supposed[name] for name in live if name != "evaluation_time_ms"} == {
        name: value for name, value in live.items() if name != "evaluation_time_ms"
    }


@pytest.mark.parametrize("shape", [lambda one: one, lambda one: {"input": one}, lambda one: {"input": {"action": one}}])
async def test_the_action_may_be_written_where_people_look_for_it(gate, second, shape) -> None:
    admin = gate.person()
    expected = (await admin.post("/v1/dry-run", json={"action": ACTIONS[4]})).json()
    answer = await admin.post("/v1/dry-run", json=shape(ACTIONS[4]))
    assert answer.status_code == 200, answer.text
    assert (answer.json()["decision"], answer.json()["action"]) == ("deny", expected["action"])
    simulated = await admin.post(f"/admin/policies/{second}/simulate", json={**shape(ACTIONS[3]), "content": SECOND})
    assert (simulated.status_code, simulated.json()["said"]) == (200, "require_approval"), simulated.text


@pytest.mark.parametrize(
    "body",
    [
        {"input": {"action": 1}},
        {"input": {"action": ACTIONS[0], "agent": {}}},
        {"tool": "x", "http": {"url": "https://a"}},
    ],
)
async def test_what_is_no_one_action_is_refused(gate, body) -> None:
    assert (await gate.person().post("/v1/dry-run", json=body)).status_code == 400


async def test_everybody_is_heard(gate, second) -> None:
    answer = await gate.person().post("/v1/dry-run", json={"action": ACTIONS[4], "trace": True})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["decision"], found["reason"], found["risk_level"]) == ("deny", "500 is too much", "critical")
    assert (found["policy_id"], found["policy_name"], found["rules"]) == (
        second,
        "Second",
        ["Second: deny", "Second: require_approval"],
    )
    assert found["approval"] is None
    first, other = found["policies"]
    assert (first["messages"], first["decides"], first["asked"]) == (["500 is too much"], True, True)
    assert (other["decision"], other["decides"], other["asked"]) == (None, False, False)
    trace = {one["rule"]: one for one in first["trace"]}
    assert trace["limit"] == {"rule": "limit", "defined": True, "value": 100}
    assert found["action"]["params"] == {"amount": 500}
    held = (await gate.person().post("/v1/dry-run", json={"action": ACTIONS[3]})).json()
    assert held["decision"] == "require_approval"
    assert (held["approval"]["hold_seconds"], held["approval"]["requirements"][0]["required_approvals"]) == (1.0, 2)


async def test_an_http_request_is_read_as_the_gate_reads_it(gate) -> None:
    body = {"name": "First", "rego_policy": FIRST, "priority": 5}
    await gate.person().post("/admin/policies", json=body)
    request = {"method": "DELETE", "url": "https://api.github.com/repos/acme/site?x=1", "headers": {"Accept": "*/*"}}
    named = {"http": request, "agent_id": (await gate.person().get("/admin/agents")).json()["data"][0]["id"]}
    found = (await gate.person().post("/v1/dry-run", json=named)).json()
    assert (found["decision"], found["action"]["tool"], found["action"]["effect"]) == ("allow", "github", "destructive")
    assert found["action"]["http"]["query"] == {"x": ["1"]}
    blocked = {"http": {"url": "http://blocked.example:8080/", "body": "a=1"}}
    found = (await gate.person().post("/v1/dry-run", json=blocked)).json()
    assert (found["decision"], found["action"]["http"]["port"]) == ("deny", 8080)


async def test_nothing_is_stored_and_nothing_counted(gate, second, superuser, applied) -> None:
    admin = gate.person()
    await admin.get("/admin/policies")  # the person is there from now on

    def rows() -> list[object]:
        return [
            superuser.execute(f"SELECT count(*) FROM {table} WHERE org_id = %s", [gate.org_id]).fetchone()  # noqa: S608 - the names below
            for table in ("actions", "approvals", "journal", "audit_events", "policies", "shadow_counts")
        ]

    async def decisions() -> list[str]:
        metrics = (await admin.get("/health/metrics")).text
        return [line for line in metrics.splitlines() if line.startswith("headgate_api_decisions_total")]

    await applied()  # a dry run applies what was recorded before it
    before, counted = rows(), await decisions()
    for action in ACTIONS:
        assert (await admin.post("/v1/dry-run", json={"action": action, "trace": True})).status_code == 200
        simulated = await admin.post(f"/admin/policies/{second}/simulate", json={"input": {"action": action}})
        assert simulated.status_code == 200, simulated.text
    appended = superuser.execute("SELECT to_jsonb(j) FROM journal j WHERE org_id = %s", [gate.org_id]).fetchall()
    assert (rows(), await decisions()) == (before, counted), appended


async def test_a_change_is_seen_at_once(gate) -> None:
    admin = gate.person()
    asked = {"action": {"tool": "pay", "operation": "send", "params": {"amount": 1}}}
    assert (await admin.post("/v1/dry-run", json=asked)).json()["decision"] == "deny"
    await admin.post("/admin/policies", json={"name": "Second", "rego_policy": SECOND, "priority": 50})
    assert (await admin.post("/v1/dry-run", json=asked)).json()["decision"] == "require_approval"


async def test_a_policy_is_simulated_as_saved_in_a_version_and_as_a_draft(gate, second) -> None:
    admin, path = gate.person(), f"/admin/policies/{second}/simulate"
    call = {"input": {"action": ACTIONS[3]}}
    saved = (await admin.post(path, json=call)).json()
    assert (saved["decision"], saved["said"], saved["version"]) == ("require_approval", "require_approval", 1)
    assert saved["overall"]["decision"] == "require_approval"
    draft = SECOND.replace("limit := 100", "limit := 10")
    drafted = (await admin.post(path, json={**call, "content": draft, "trace": True})).json()
    assert (drafted["decision"], drafted["version"], drafted["rules"]) == ("deny", None, ["deny", "require_approval"])
    assert drafted["overall"]["reason"] == "50 is too much"
    assert {"rule": "limit", "defined": True, "value": 10} in drafted["trace"]
    await admin.patch(f"/admin/policies/{second}", json={"rego_policy": draft})
    assert (await admin.post(path, json=call)).json()["decision"] == "deny"
    assert (await admin.post(path, json={**call, "version": 1})).json()["decision"] == "require_approval"
    silent = (await admin.post(path, json={"action": ACTIONS[0]})).json()
    assert (silent["decision"], silent["said"], silent["policy_id"]) == ("deny", None, None)
    assert silent["overall"]["decision"] == "allow"
    misspelled = SECOND.replace("input.params", "input.parms")
    (*_, warning) = (await admin.post(path, json={**call, "content": misspelled})).json()["warnings"]
    assert "(did you mean input.params" in warning


async def test_a_simulation_warns_as_saving_does(gate, second) -> None:
    """Of what an allow hides, of its name, and of a sample call on which it fails."""
    admin = gate.person()
    mine = await admin.post("/admin/policies", json={"name": "Second", "rego_policy": FIRST, "priority": 5})
    path, call = f"/admin/policies/{mine.json()['id']}", {"action": ACTIONS[0]}
    draft = (
        FIRST + '\ndeny if { input.http.host == "api.example.com"; count(input.tool) / (input.http.port - 443) > 1 }\n'
    )
    for body in ({}, {"rego_policy": draft}):
        simulated = await admin.post(f"{path}/simulate", json={**call, **body})
        assert simulated.status_code == 200, simulated.text
        saved = await admin.patch(path, json={**body, "description": "saved again"})
        assert simulated.json()["warnings"] == saved.json()["warnings"]
    namesake, *hidden = mine.json()["warnings"]
    assert "the same name" in namesake and len(hidden) == 2
    assert len(saved.json()["warnings"]) == 4


async def test_a_simulation_says_why_saving_would_be_refused(gate, second) -> None:
    endless = "some a in numbers.range(1, 9999); some b in numbers.range(1, 9999); a * b < 0"
    draft = f'package e\n\ndeny if {{ input.tool == "shell"; {endless} }}\n'
    body = {"action": ACTIONS[0], "rego_policy": draft}
    found = (await gate.person().post(f"/admin/policies/{second}/simulate", json=body)).json()
    assert found["error"] is False
    assert any("saving is refused: on the sample call" in one for one in found["warnings"])


async def test_a_draft_that_never_ends_harms_nobody(gate, second) -> None:
    endless = "package e\n\ndeny if { some a in numbers.range(1, 9999); some b in numbers.range(1, 9999); a * b < 0 }"
    found = (
        await gate.person().post(
            f"/admin/policies/{second}/simulate", json={"action": ACTIONS[0], "rego_policy": endless}
        )
    ).json()
    assert (found["decision"], found["error"], found["said"]) == ("deny", True, "deny")
    assert "time" in found["reason"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"action": ACTIONS[0], "http": {"url": "https://a.example"}}, "body"),
        ({"action": {"tool": "Read", "operation": "it", "params": {}}}, "tool"),
        ({"action": {"tool": "read", "operation": "it"}}, "params"),
        ({"http": {"url": "ftp://a.example"}}, "http.url"),
        ({"http": {"url": "https://user@a.example"}}, "http.url"),
        ({"http": {"url": "https://a.example/a%2fb"}}, "path"),
        ({"http": {"url": "https://a.example", "body_base64": "*"}}, "http.body_base64"),
        ({"http": {"url": "https://a.example:99999"}}, "http.url"),
        ({"action": ACTIONS[0], "verbose": True}, "verbose"),
    ],
)
async def test_what_is_no_call_is_refused(gate, body, field: str) -> None:
    answer = await gate.person().post("/v1/dry-run", json=body)
    assert answer.status_code == 400, answer.text
    assert (answer.json()["error"]["details"]["field"] or "body") == field


async def test_strangers_and_bad_drafts_are_refused(gate, second, new_gate) -> None:
    admin, path = gate.person(), f"/admin/policies/{second}/simulate"
    bad = await admin.post(path, json={"action": ACTIONS[0], "rego_policy": "package a\nallow if {"})
    assert (bad.status_code, bad.json()["error"]["details"]["line"]) == (400, 2)
    stranger = (await new_gate()).person()
    assert (await stranger.post(path, json={"action": ACTIONS[0]})).status_code == 404
    named = {"action": ACTIONS[0], "agent_id": gate.agent_id}
    assert (await stranger.post("/v1/dry-run", json=named)).status_code == 404
    assert (await gate.as_agent.post("/v1/dry-run", json={"action": ACTIONS[0]})).status_code == 403
