"""Agents over HTTP once they are there: changed, found, suspended, ended; what each did, and its own limits."""

import pytest

from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.journal.apply import apply_before_reading
from headgate.kernel.ids import IdPrefix, new_id


async def submitted(client, tool: str) -> dict[str, object]:
    answer = await client.post("/v1/actions", json={"tool": tool, "operation": "run", "params": {}})
    assert answer.status_code in (201, 202), answer.text
    return answer.json()


async def test_a_change_keeps_what_it_leaves_out_and_is_recorded(gate) -> None:
    admin, path = gate.person(), f"/admin/agents/{gate.agent_id}"
    body = {
        "description": "Sends parcels.",
        "owner": "logistics@example.com",
        "tags": ["prod", "eu", "prod"],
        "limits": {"requests_per_minute": 5},
    }
    changed = (await admin.put(path, json=body)).json()
    assert (changed["name"], changed["owner"], changed["tags"]) == ("Robot", "logistics@example.com", ["eu", "prod"])
    assert changed["limits"] == {"requests_per_minute": 5, "open_approvals": None}
    named = (await admin.put(path, json={"name": "Courier", "description": None})).json()
    assert (named["name"], named["description"], named["owner"]) == ("Courier", None, "logistics@example.com")
    assert (await admin.get(path)).json() == named
    assert (await admin.put(path, json={"name": "Courier"})).json()["updated_at"] == named["updated_at"]

    database = gate.api.dependencies.database
    await apply_before_reading(database, gate.org_id)
    async with database.transaction(gate.org_id) as connection:
        page = await list_events(connection, gate.org_id, EventFilter(event_type="agent.updated"))
    assert [event.data["changed"] for event in page.events] == [
        {"name": {"from": "Robot", "to": "Courier"}, "description": {"from": "Sends parcels.", "to": None}},
        {
            "description": {"from": None, "to": "Sends parcels."},
            "owner": {"from": None, "to": "logistics@example.com"},
            "tags": {"from": [], "to": ["eu", "prod"]},
            "requests_per_minute": {"from": None, "to": 5},
        },
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a" * 129}, "name"),
        ({"description": "d" * 1025}, "description"),
        ({"owner": ""}, "owner"),
        ({"owner": "o" * 321}, "owner"),
        ({"owner": "Mike <mike@example.com>"}, "owner"),
        ({"owner": "mike@example.com, ada@example.com"}, "owner"),
        ({"owner": "@logistics"}, "owner"),
        ({"tags": ["Upper"]}, "tags[0]"),
        ({"tags": [f"t{number}" for number in range(33)]}, "tags"),
        ({"limits": {"requests_per_minute": 0}}, "limits.requests_per_minute"),
        ({"limits": {"open_approvals": 10_001}}, "limits.open_approvals"),
        ({"status": "active"}, "status"),
    ],
)
async def test_a_change_that_cannot_be_names_the_field(gate, body: dict[str, object], field: str) -> None:
    answer = await gate.person().put(f"/admin/agents/{gate.agent_id}", json=body)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, field)


async def test_agents_are_found_by_words_status_tag_and_owner(gate) -> None:
    admin = gate.person()
    made = {}
    for name, more in (
        ("Billing bot", {"tags": ["finance"], "owner": "ann@example.com"}),
        ("Mail bot", {"description": "answers BILLING questions", "tags": ["mail"]}),
        ("100% done", {}),
    ):
        made[name] = (await admin.post("/admin/agents", json={"name": name, **more})).json()["id"]
    await admin.post(f"/admin/agents/{made['Mail bot']}/suspend", json={"reason": "too chatty"})

    async def found(**parameters: str) -> list[str]:
        page = (await admin.get("/admin/agents", params=parameters)).json()
        assert page["pagination"]["total"] == len(page["data"])
        return [agent["name"] for agent in page["data"]]

    assert await found(q="billing") == ["Mail bot", "Billing bot"]
    assert await found(q="bot BILLING answers") == ["Mail bot"]
    assert await found(q="100% DON") == ["100% done"]
    assert await found(q="one") == []  # a word is looked for by how it begins
    for nothing in ("%", "&|!", "'", ":*", "<->"):
        assert await found(q=nothing) == []
    assert await found(q=made["100% done"]) == ["100% done"]
    assert await found(q=made["100% done"][:-4]) == ["100% done"]
    assert await found(q=f"bill {made['100% done']}") == []
    assert await found(q="' OR true --") == []
    assert await found(tag="finance") == ["Billing bot"]
    assert await found(owner="ann@example.com") == ["Billing bot"]
    assert await found(status="suspended") == ["Mail bot"]
    assert await found(status="active", q="bot") == ["Billing bot"]
    assert (await admin.get("/admin/agents", params={"status": "gone"})).status_code == 400


async def test_a_suspended_agent_is_refused_at_once_and_goes_on_with_the_same_key(gate) -> None:
    admin, agent, path = gate.person(), gate.as_agent, f"/admin/agents/{gate.agent_id}"
    await submitted(agent, "read")
    suspended = (await admin.post(f"{path}/suspend", json={"reason": "under review"})).json()
    assert (suspended["status"], suspended["status_reason"]) == ("suspended", "under review")
    refused = await agent.post("/v1/actions", json={"tool": "read", "operation": "run", "params": {}})
    assert refused.status_code == 401
    assert (await admin.post(f"{path}/rotate-key")).status_code == 409
    resumed = (await admin.post(f"{path}/resume")).json()
    assert (resumed["status"], resumed["status_reason"]) == ("active", None)
    await submitted(agent, "read")
    assert (await admin.post(f"{path}/resume")).json() == resumed


async def test_a_deactivated_agent_is_history(gate) -> None:
    admin, agent, path = gate.person(), gate.as_agent, f"/admin/agents/{gate.agent_id}"
    action = await submitted(agent, "read")
    ended = await admin.delete(path)
    assert (ended.status_code, ended.json()["status"]) == (200, "deactivated")
    assert (await admin.delete(path)).json() == ended.json()
    assert (await agent.get("/v1/actions")).status_code == 401
    assert [key["status"] for key in (await admin.get(f"{path}/keys")).json()["data"]] == ["revoked"]
    kept = (await admin.get(f"{path}/actions")).json()
    assert [one["id"] for one in kept["data"]] == [action["id"]]
    for verb in ("suspend", "resume", "rotate-key"):
        assert (await admin.post(f"{path}/{verb}")).status_code == 409


async def test_what_an_agent_did(gate) -> None:
    admin, agent, path = gate.person(), gate.as_agent, f"/admin/agents/{gate.agent_id}"
    tools = ["read", "wipe", "write", "read"]
    ids = [(await submitted(agent, tool))["id"] for tool in tools]
    await gate.api.inside(gate.api.dependencies.keys.touch_used())
    await admin.post(f"{path}/rotate-key", json={"overlap_seconds": 60})

    listed = (await admin.get(f"{path}/actions")).json()
    assert [one["id"] for one in listed["data"]] == ids[::-1]
    assert [one["tool"] for one in (await admin.get(f"{path}/actions?status=denied")).json()["data"]] == ["wipe"]
    assert (await admin.get(f"{path}/actions?status=lost")).status_code == 400

    figures = (await admin.get(f"{path}/figures", params={"days": 1})).json()
    assert figures["actions"] == 4
    assert figures["decisions"] == {"allow": 2, "deny": 1, "require_approval": 1}
    assert figures["holds"] == {"pending": 1, "approved": 0, "denied": 0, "expired": 0}
    assert [(one["tool"], one["actions"]) for one in figures["tools"]] == [("read", 2), ("wipe", 1), ("write", 1)]
    assert figures["last_seen_at"] is not None
    assert (await admin.get(path)).json()["last_seen_at"] is not None

    whole = (await admin.get(f"{path}/activity")).json()
    assert whole["pagination"]["next_cursor"] is None
    summaries = [moment["summary"] for moment in whole["data"]]
    assert summaries == [
        "key.rotated",
        "read.run: allow, now allowed",
        "write.run: require_approval, now pending_approval",
        "wipe.run: deny, now denied",
        "read.run: allow, now allowed",
        "key.created",
        "agent.created",
    ]
    pages: list[object] = []
    cursor: str | None = None
    while True:
        parameters = {"limit": 2, **({} if cursor is None else {"cursor": cursor})}
        page = (await admin.get(f"{path}/activity", params=parameters)).json()
        pages += page["data"]
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    assert pages == whole["data"]
    for nonsense in ("nonsense", "act_1.2", ".x"):
        assert (await admin.get(f"{path}/activity", params={"cursor": nonsense})).status_code == 400


@pytest.mark.parametrize(
    ("method", "suffix"),
    [
        ("PUT", ""), ("DELETE", ""), ("POST", "/suspend"), ("POST", "/resume"), ("GET", "/actions"),
        ("GET", "/activity"), ("GET", "/figures"),
    ],
)  # fmt: skip
async def test_another_organizations_agent_is_not_there(gate, new_organization, method: str, suffix: str) -> None:
    admin = gate.person()
    body = {"json": {"name": "x"}} if method == "PUT" else {}
    statuses = [
        (await admin.request(method, f"/admin/agents/{agent_id}{suffix}", **body)).status_code
        for agent_id in (new_organization().agent_id, new_id(IdPrefix.AGENT), "me")
    ]
    assert statuses == [404, 404, 404]


async def test_an_agents_own_limits_hold_for_all_of_its_keys(start_api, new_organization) -> None:
    api = await start_api(rate_limits=True)
    organization = new_organization()
    path = f"/admin/agents/{organization.agent_id}"
    async with api.as_admin(organization.org_id) as admin:
        await admin.put(path, json={"limits": {"requests_per_minute": 3}})
        keys = [(await admin.post(f"{path}/keys")).json()["key"] for _ in range(2)]
    statuses = []
    for key in (keys * 3)[:5]:
        async with api.client(X_Agent_Key=key) as client:
            answer = await client.get("/v1/actions")
            statuses.append(answer.status_code)
            assert answer.headers["X-RateLimit-Limit"] == "3"
    assert statuses == [200, 200, 200, 429, 429]


async def test_an_agents_own_bound_on_open_approvals(gate) -> None:
    await gate.person().put(f"/admin/agents/{gate.agent_id}", json={"limits": {"open_approvals": 1}})
    agent = gate.as_agent
    body = {"tool": "write", "operation": "run", "params": {}}
    answers = [await agent.post("/v1/actions", json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 429]
    assert answers[1].json()["error"]["details"] == {"open_approvals": 1}


async def test_a_list_is_the_same_however_it_is_found(gate, superuser) -> None:
    """A common word is read on from the newest, a rare one looked up: both say what there is, in order."""
    superuser.execute(
        "INSERT INTO agents (org_id, agent_id, name, tags) SELECT %s, 'agt_' || gen_random_uuid(),"
        " 'Common ' || CASE WHEN n %% 500 = 0 THEN 'rare' ELSE '' END, ARRAY[CASE WHEN n %% 500 = 0 THEN 'few' ELSE"
        " 'many' END] FROM generate_series(1, 3000) AS n",
        [gate.org_id],
    )
    admin = gate.person()

    async def listed(**parameters: object) -> list[str]:
        ids: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            query = {"limit": 200, "total": "exact", **parameters, **cursor}
            page = (await admin.get("/admin/agents", params=query)).json()  # type: ignore[arg-type] - of httpx' kinds
            assert page["pagination"]["total"] == expected
            ids += [one["id"] for one in page["data"]]
            if page["pagination"]["next_cursor"] is None:
                return ids
            cursor = {"cursor": page["pagination"]["next_cursor"]}

    for parameters, expected in (
        ({"q": "comm"}, 3000),
        ({"q": "rar comm"}, 6),
        ({"tag": "few"}, 6),
        ({"tag": "many"}, 2994),
    ):
        ids = await listed(**parameters)
        assert len(ids) == len(set(ids)) == expected
        assert ids == sorted(ids, reverse=True)
    counted = (await admin.get("/admin/agents", params={"q": "common"})).json()["pagination"]
    assert (counted["total"], counted["total_is_minimum"]) == (1000, True)
    by_offset = (await admin.get("/admin/agents", params={"q": "common", "offset": 2995})).json()
    assert len(by_offset["data"]) == 5
