"""Agents and keys over HTTP: created, listed, rotated, revoked, recorded; another organization's are not there."""

from datetime import timedelta

import pytest

from headgate.agents.keys import is_well_formed
from headgate.agents.scopes import KeyKind, Scope
from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import rfc3339, system_clock
from headgate.kernel.errors import UnauthorizedError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.store import generation


async def works(running_api, key: str) -> bool:
    try:
        await running_api.inside(running_api.dependencies.keys.authenticate(key, fresh=True))
    except UnauthorizedError:
        return False
    return True


async def event_types(running_api, org_id: str) -> list[str]:
    await apply_before_reading(running_api.dependencies.database, org_id)
    async with running_api.dependencies.database.transaction(org_id) as connection:
        page = await list_events(connection, org_id, EventFilter())
    return [event.event_type for event in reversed(page.events) if event.event_type != "user.created"]


async def current_generation(running_api, org_id: str) -> int:
    async with running_api.dependencies.database.transaction(org_id) as connection:
        return await generation(connection, org_id)


async def test_an_agent_is_created_with_a_key_that_is_shown_once(running_api, organization) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.post("/admin/agents", json={"name": "Courier", "description": "Sends parcels."})
        assert answer.status_code == 201
        agent = answer.json()
        issued = agent.pop("api_key")
        assert is_well_formed(issued["key"])
        assert issued["scopes"] == ["actions:read", "actions:write"]
        assert issued["expires_at"] is None, "a key lives for ever unless somebody says otherwise"
        assert agent["status"] == "active"
        assert agent["created_by"].startswith("usr_")
        assert (await client.get(f"/admin/agents/{agent['id']}")).json() == agent
        # The bare UUID is the same agent (kernel.ids).
        assert (await client.get(f"/admin/agents/{agent['id'][4:]}")).json() == agent

        listed = (await client.get("/admin/agents", params={"limit": 1})).json()
        assert listed == {
            "data": [agent],
            "pagination": {"total": 2, "limit": 1, "offset": 0, "next_cursor": agent["id"]},
        }
        assert (await client.get("/admin/agents", params={"offset": 1, "total": "exact"})).json()["data"][0][
            "id"
        ] == organization.agent_id

        keys = (await client.get(f"/admin/agents/{agent['id']}/keys")).json()
        assert [key["id"] for key in keys["data"]] == [issued["id"]]
        assert issued["key"] not in str(keys)
        assert keys["data"][0]["display"] == issued["key"][:9] + "…"

    identity = await running_api.inside(running_api.dependencies.keys.authenticate(issued["key"]))
    assert (identity.org_id, identity.agent_id, identity.agent_name) == (organization.org_id, agent["id"], "Courier")
    assert await event_types(running_api, organization.org_id) == ["agent.created", "key.created"]
    assert await current_generation(running_api, organization.org_id) == 2


@pytest.mark.parametrize("overlap_seconds", [None, 0, 3600])
async def test_rotating_replaces_every_key_that_works(running_api, organization, overlap_seconds: int | None) -> None:
    _, first = await running_api.key(
        organization.org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=organization.agent_id
    )
    newest, second = await running_api.key(
        organization.org_id, Scope.ACTIONS_WRITE, kind=KeyKind.AGENT, agent_id=organization.agent_id
    )
    async with running_api.as_admin(organization.org_id) as client:
        body = None if overlap_seconds is None else {"overlap_seconds": overlap_seconds}
        answer = await client.post(f"/admin/agents/{organization.agent_id}/rotate-key", json=body)
        assert answer.status_code == 200, answer.text
        rotated = answer.json()
        assert rotated["replaced"][0] == newest.key_id
        assert len(rotated["replaced"]) == 2
        assert rotated["api_key"]["scopes"] == ["actions:write"]
        statuses = {
            key["id"]: key["status"]
            for key in (await client.get(f"/admin/agents/{organization.agent_id}/keys")).json()["data"]
        }
    lasting = bool(overlap_seconds)
    assert [await works(running_api, key) for key in (rotated["api_key"]["key"], first, second)] == [
        True,
        lasting,
        lasting,
    ]
    assert sorted(statuses.values()) == ["active"] + (["active"] * 2 if lasting else ["revoked"] * 2)
    assert (await event_types(running_api, organization.org_id))[-1] == "key.rotated"


async def test_rotating_one_key_leaves_the_others(running_api, organization) -> None:
    one, first = await running_api.key(
        organization.org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=organization.agent_id
    )
    _, second = await running_api.key(
        organization.org_id, Scope.ACTIONS_WRITE, kind=KeyKind.AGENT, agent_id=organization.agent_id
    )
    async with running_api.as_admin(organization.org_id) as client:
        path = f"/admin/agents/{organization.agent_id}/rotate-key"
        answer = await client.post(path, json={"key_id": one.key_id})
        assert answer.json()["replaced"] == [one.key_id]
        assert [await works(running_api, key) for key in (first, second)] == [False, True]
        assert (await client.post(path, json={"key_id": one.key_id})).status_code == 404
        assert (await client.post(path, json={"overlap_seconds": -1})).status_code == 400


async def test_keys_for_programs(running_api, organization) -> None:
    in_an_hour = system_clock() + timedelta(hours=1)
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.post(
            "/admin/keys",
            json={"name": "reporting", "scopes": ["audit:read"], "expires_at": rfc3339(in_an_hour)},
        )
        assert answer.status_code == 201, answer.text
        issued = answer.json()
        async with running_api.client(Authorization=f"Bearer {issued['key']}") as program:
            refused = await program.get("/admin/keys")
            assert refused.status_code == 403
            assert "admin:*" in refused.json()["error"]["message"]
        record = (await client.get(f"/admin/keys/{issued['id']}")).json()
        assert (record["kind"], record["status"], record["name"]) == ("admin", "active", "reporting")
        assert record["created_by"].startswith("usr_")
        webhook = await client.post("/admin/keys", json={"name": "hook", "kind": "webhook"})
        assert webhook.status_code == 201
        assert webhook.json()["scopes"] == []

        revoked = await client.delete(f"/admin/keys/{issued['id']}")
        assert revoked.json()["status"] == "revoked"
        assert (await client.delete(f"/admin/keys/{issued['id']}")).json() == revoked.json()
        total = (await client.get("/admin/keys")).json()["pagination"]["total"]
        assert total == 2
    assert not await works(running_api, issued["key"])
    assert await event_types(running_api, organization.org_id) == ["key.created", "key.created", "key.revoked"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/admin/agents", {}, "name"),
        ("/admin/agents", {"name": ""}, "name"),
        ("/admin/agents", {"name": "a" * 129}, "name"),
        ("/admin/agents", {"name": "nul \0"}, "name"),
        ("/admin/agents", {"name": "a", "description": "d" * 1025}, "description"),
        ("/admin/agents", {"name": "a", "colour": "red"}, "colour"),
        ("/admin/keys", {"name": "a", "scopes": ["admin"]}, "scopes"),
        ("/admin/keys", {"name": "a", "scopes": []}, "scopes"),
        ("/admin/keys", {"name": "a", "kind": "agent", "scopes": ["actions:read"]}, "kind"),
        ("/admin/keys", {"name": "a", "scopes": ["admin:*"], "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ("/admin/keys", {"name": "a", "scopes": ["admin:*"], "expires_at": "2020-01-01T00:00:00"}, "expires_at"),
    ],
)
async def test_bad_bodies_name_the_field(
    running_api, organization, path: str, body: dict[str, object], field: str
) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.post(path, json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"]["field"] == field
    assert error["requestId"] == answer.headers["X-Request-Id"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b'{"name": "a", "name": "b"}', 400),
        (b'{"name": "\\ud800"}', 400),
        (b'{"name": NaN}', 400),
        (b"{", 400),
        (b"", 400),
        (b'{"name": "' + b"a" * (1024 * 1024) + b'"}', 413),
    ],
)
async def test_what_two_parsers_could_read_differently(running_api, organization, content: bytes, status: int) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        headers = {"Content-Type": "application/json"}
        answers = [await client.post("/admin/agents", content=content, headers=headers)]

        async def chunks():
            yield content[:10]
            yield content[10:]

        answers.append(await client.post("/admin/agents", content=chunks(), headers=headers))
    assert [answer.status_code for answer in answers] == [status] * 2, answers[0].text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/admin/agents/{agent}"),
        ("POST", "/admin/agents/{agent}/rotate-key"),
        ("GET", "/admin/agents/{agent}/keys"),
        ("POST", "/admin/agents/{agent}/keys"),
        ("GET", "/admin/agents/{agent}/keys/{key}"),
        ("DELETE", "/admin/agents/{agent}/keys/{key}"),
        ("GET", "/admin/keys/{key}"),
        ("DELETE", "/admin/keys/{key}"),
        ("GET", "/admin/policies/{policy}"),
        ("DELETE", "/admin/policies/{policy}"),
    ],
)
async def test_what_is_another_organizations_is_not_there(
    running_api, organization, new_organization, superuser, method: str, path: str
) -> None:
    other = new_organization()
    record, key = await running_api.key(other.org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=other.agent_id)
    policy_id = new_id(IdPrefix.POLICY)
    superuser.execute(
        "INSERT INTO policies (org_id, policy_id, name, rego_policy) VALUES (%s, %s, 'p', 'package p')",
        [other.org_id, policy_id],
    )
    names = {"agent": other.agent_id, "key": record.key_id, "policy": policy_id}
    before = await current_generation(running_api, other.org_id)
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.request(method, path.format(**names))
        absent = await client.request(
            method,
            path.format(agent=new_id(IdPrefix.AGENT), key=new_id(IdPrefix.KEY), policy=new_id(IdPrefix.POLICY)),
        )
        malformed = await client.request(method, path.format(agent="me", key="me", policy="me"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
    assert absent.status_code == 404
    assert malformed.status_code == 404
    assert await works(running_api, key)
    assert await current_generation(running_api, other.org_id) == before


async def test_an_api_that_knows_no_authority_says_so_to_an_agent(gate) -> None:
    answer = await gate.as_agent.get("/v1/agents/me")
    assert (answer.status_code, "HEADGATE_CA_FILE" in answer.json()["error"]["message"]) == (503, True)
