"""The routes that make and bind connections: what they take, what they refuse, and that they show no secret."""

from typing import Any

import pytest

SECRET = "s3cr3t-of-this-test"
BODY: dict[str, Any] = {
    "name": "svc",
    "kind": "api_key",
    "hosts": ["api.example.com", "api.example.com:8443"],
    "place": {"in": "query", "name": "key"},
    "agents": ["*"],
    "credentials": {"secret": SECRET},
}


async def make(person, **changes):
    answer = await person.post("/v1/connections", json=BODY | changes)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_made_listed_read_bound_and_removed(gate, superuser) -> None:
    person = gate.person()
    made = await make(person)
    assert made["placeholder"] == "hg_placeholder_svc" and made["hosts"] == [
        "api.example.com:443",
        "api.example.com:8443",
    ]
    assert made["place"] == {"in": "query", "name": "key", "prefix": ""} and made["status"] == "active"
    listed = (await person.get("/v1/connections")).json()
    assert [one["id"] for one in listed["data"]] == [made["id"]] and listed["pagination"]["total"] == 1
    assert (await person.get("/v1/connections", params={"status": "broken"})).json()["data"] == []
    bound = await person.patch(
        f"/v1/connections/{made['id']}",
        json={"agents": [gate.agent_id], "tools": ["github"], "needs_placeholder": True},
    )
    assert (bound.json()["agents"], bound.json()["tools"], bound.json()["needs_placeholder"]) == (
        [gate.agent_id],
        ["github"],
        True,
    )
    usage = (await person.get(f"/v1/connections/{made['id']}/usage")).json()
    assert (usage["uses"], usage["data"]) == (0, [])
    assert (await person.get(f"/v1/connections/{made['id']}/health")).json()["is_usable"]
    tested = (await person.post(f"/v1/connections/{made['id']}/test", json={})).json()
    assert tested["outcome"] == "unknown" and "check_path" in tested["message"]
    audit = (await person.get("/admin/audit", params={"limit": 50})).text
    assert "connection.created" in audit and SECRET not in audit
    for answer in (listed, bound.json(), usage):
        assert SECRET not in str(answer)
    assert (await person.delete(f"/v1/connections/{made['id']}")).json() == {"id": made["id"], "deleted": True}
    assert (await person.get(f"/v1/connections/{made['id']}")).status_code == 404
    [(kept,)] = superuser.execute("SELECT count(*) FROM vault_secrets WHERE org_id = %s", [gate.org_id]).fetchall()
    assert kept == 0
    assert (await make(person))["id"] != made["id"]  # the name is free again


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "Svc"}, "name"),
        ({"hosts": ["*.example.com"]}, "hosts"),
        ({"hosts": ["example.com."]}, "hosts"),
        ({"hosts": ["https://example.com"]}, "hosts"),
        ({"hosts": ["example.com:22"]}, "hosts"),
        ({"hosts": []}, "hosts"),
        ({"place": {"in": "header", "name": "Host"}}, "place.name"),
        ({"place": {"in": "header", "name": "a b"}}, "place.name"),
        ({"place": {"in": "header", "name": "x-key", "prefix": "a\r\nX: y"}}, "place.prefix"),
        ({"agents": ["agt_01a1fea6-b756-7a46-9ff4-412cec3a741f"]}, "agents"),
        ({"agents": ["*", "my-agent"]}, "agents[1]"),
        ({"tools": ["Not a tool"]}, "tools"),
        ({"credentials": {"secret": "short"}}, "credentials.secret"),
        ({"credentials": {"secret": "line\r\nbreak-in-it"}}, "credentials.secret"),
        ({"credentials": {"token": SECRET}}, "credentials.token"),
        ({"credentials": {}}, "credentials.secret"),
        ({"kind": "basic", "credentials": {"user": "a:b", "password": SECRET}}, "credentials.user"),
        ({"kind": "basic", "credentials": {"user": "a", "password": "short"}}, "credentials.password"),
        ({"kind": "mtls", "credentials": {"certificate": SECRET, "private_key": SECRET}}, "credentials"),
        ({"kind": "oauth2"}, "kind"),
        (
            {"kind": "aws_sigv4", "credentials": {"access_key_id": SECRET, "secret_access_key": SECRET}},
            "settings.region",
        ),
        ({"settings": {"check_path": "x"}}, "settings.check_path"),
        ({"settings": {"unknown": "x"}}, "settings.unknown"),
        ({"platform": "nobody"}, "platform"),
        ({"platform": "github"}, "kind"),
        ({"unknown": 1}, "unknown"),
    ],
)
async def test_what_cannot_be_is_named(gate, changes, field: str) -> None:
    answer = await gate.person().post("/v1/connections", json=BODY | changes)
    assert answer.status_code == 400, answer.text
    assert field in answer.text and SECRET not in answer.text


async def test_a_name_is_one_connections(gate) -> None:
    person = gate.person()
    await make(person)
    answer = await person.post("/v1/connections", json=BODY)
    assert answer.status_code == 409


async def test_platforms(gate) -> None:
    listed = (await gate.person().get("/v1/connections/platforms")).json()["data"]
    names = {one["name"] for one in listed}
    assert {"github", "gitlab", "google", "slack", "atlassian", "linear", "notion", "generic"} <= names
    assert {"bluesky", "mastodon"} <= names
    assert all(one["documentation"].startswith("https://") for one in listed)


@pytest.mark.own_api
async def test_without_a_master_key_what_needs_none_goes_on(gate) -> None:
    """The file of keys is unreadable for everybody but its owner, or it is not read at all."""
    person = gate.person()
    made = await make(person)
    keys = gate.api.dependencies.vault.keys_file
    keys.chmod(0o644)
    gate.api.dependencies.vault._keys = None
    try:
        answer = await person.post("/v1/connections", json=BODY | {"name": "second"})
        assert answer.status_code == 503 and "chmod 600" in answer.json()["error"]["message"]
        assert (await person.get("/v1/connections")).json()["pagination"]["total"] == 1
        assert (await person.delete(f"/v1/connections/{made['id']}")).json() == {"id": made["id"], "deleted": True}
    finally:
        keys.chmod(0o600)


async def test_a_credential_that_cannot_be_refreshed_says_so(gate) -> None:
    person = gate.person()
    made = await make(person)
    answer = await person.post(f"/v1/connections/{made['id']}/refresh", json={})
    assert answer.status_code == 409 and "cannot be refreshed" in answer.json()["error"]["message"]
