"""A policy's versions through the API: who changed what, locking, comparing, restoring."""

import asyncio

import pytest

READS = 'package mine\n\nallow if input.tool == "mail"\n'
WRITES = 'package mine\n\nallow if input.tool == "chat"\n'


@pytest.fixture
async def client(running_api, organization):
    async with running_api.as_admin(organization.org_id) as made:
        yield made


@pytest.fixture
async def policy(client):
    answer = await client.post("/admin/policies", json={"name": "Mail", "content": READS, "change_note": "first"})
    assert answer.status_code == 201, answer.text
    assert answer.headers["etag"] == '"1"'
    return answer.json()


async def events_of(client, policy_id: str) -> list[dict[str, object]]:
    listed = (await client.get("/admin/audit", params={"limit": 200})).json()["data"]
    return [
        {"type": one["event_type"], **one["data"]}
        for one in reversed(listed)
        if one["event_type"].startswith("policy.") and one["data"]["policy_id"] == policy_id
    ]


async def test_every_change_is_a_version_with_who_when_and_why(client, policy) -> None:
    path = f"/admin/policies/{policy['id']}"
    patched = await client.patch(path, json={"rego_policy": WRITES, "change_note": "chat instead"})
    assert (patched.status_code, patched.json()["version"]) == (200, 2)
    replaced = await client.put(path, json={"name": "Chat", "content": WRITES, "priority": 7})
    assert (replaced.json()["version"], replaced.json()["priority"]) == (3, 7)
    assert (await client.delete(path, params={"change_note": "not needed"})).json()["version"] == 4
    assert (await client.get(path)).status_code == 404
    restored = await client.post(f"{path}/restore", json={"version": 1})
    assert (restored.json()["version"], restored.json()["rego_policy"]) == (5, READS)
    assert (await client.get(path)).json()["name"] == "Mail"

    listed = (await client.get(f"{path}/versions")).json()
    assert listed["pagination"]["total"] == 5
    assert [(one["version"], one["change"], one["change_note"], one["restored_from"]) for one in listed["data"]] == [
        (5, "restored", None, 1),
        (4, "deleted", "not needed", None),
        (3, "updated", None, None),
        (2, "updated", "chat instead", None),
        (1, "created", "first", None),
    ]
    assert all(one["changed_by"]["type"] == "user" for one in listed["data"])
    second = (await client.get(f"{path}/versions/2")).json()
    assert (second["policy"]["rego_policy"], second["policy"]["version"]) == (WRITES, 2)
    assert (await client.get(f"{path}/versions/9")).status_code == 404

    events = await events_of(client, policy["id"])
    assert [(one["type"], one.get("previous_version"), one["version"]) for one in events] == [
        ("policy.created", None, 1),
        ("policy.updated", 1, 2),
        ("policy.updated", 2, 3),
        ("policy.deleted", 3, 4),
        ("policy.restored", 4, 5),
    ]
    assert [one.get("changed") for one in events][1:3] == [["rego_policy"], ["name", "priority"]]


async def test_a_version_is_compared_with_another(client, policy) -> None:
    path = f"/admin/policies/{policy['id']}"
    await client.patch(path, json={"rego_policy": WRITES, "priority": 5})
    diff = (await client.get(f"{path}/diff", params={"from": 1, "to": 2})).json()
    assert diff["changes"] == {"priority": {"from": 100, "to": 5}}
    assert '-allow if input.tool == "mail"\n+allow if input.tool == "chat"\n' in diff["diff"]
    assert diff["diff"].startswith("--- policy.rego (version 1)\n+++ policy.rego (version 2)\n@@ -1,3 +1,3 @@\n")
    same = (await client.get(f"{path}/diff", params={"from": 2, "to": 2})).json()
    assert (same["diff"], same["changes"]) == ("", {})


async def test_an_outdated_change_is_refused(client, policy) -> None:
    path = f"/admin/policies/{policy['id']}"
    assert (await client.patch(path, json={"priority": 1, "version": 1})).headers["etag"] == '"2"'
    for method, arguments in (
        ("PATCH", {"json": {"priority": 2, "version": 1}}),
        ("PUT", {"json": {"name": "Mail", "rego_policy": READS, "version": 1}}),
        ("DELETE", {"params": {"version": 1}}),
    ):
        answer = await client.request(method, path, **arguments)
        assert answer.status_code == 409, answer.text
        assert answer.json()["error"]["details"]["version"] == 2
    for method, body in (("PATCH", {"priority": 2}), ("PUT", {"name": "Mail", "rego_policy": READS}), ("DELETE", None)):
        for tag in ('"1"', 'W/"2"', '"two"'):
            answer = await client.request(method, path, json=body, headers={"If-Match": tag})
            assert answer.status_code == 412, answer.text
            assert answer.json()["error"]["code"] == "PRECONDITION_FAILED"
    refused = await client.post(f"{path}/restore", json={"version": 1}, headers={"If-Match": '"1"'})
    assert refused.status_code == 412
    both = await client.patch(path, json={"priority": 2, "version": 1}, headers={"If-Match": '"2"'})
    assert both.status_code == 400
    assert (await client.get(path)).json()["version"] == 2
    assert (await client.patch(path, json={"priority": 2}, headers={"If-Match": '"2"'})).status_code == 200
    assert (await client.delete(path, headers={"If-Match": "*"})).status_code == 200


async def test_of_two_changes_at_once_one_is_refused(client, policy) -> None:
    path = f"/admin/policies/{policy['id']}"
    answers = await asyncio.gather(
        *(client.patch(path, json={"priority": number, "version": 1}) for number in range(4))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert (await client.get(f"{path}/versions")).json()["pagination"]["total"] == 2


async def test_a_quarantined_policy_is_released_by_a_person_or_by_another_text(client, policy, superuser) -> None:
    path = f"/admin/policies/{policy['id']}"
    for change, version in (({"quarantine": None}, 2), ({"rego_policy": WRITES}, 3)):
        superuser.execute("UPDATE policies SET quarantine = 'it crashed' WHERE policy_id = %s", [policy["id"]])
        assert (await client.patch(path, json={"priority": 100})).json()["quarantine"] == "it crashed"
        released = (await client.patch(path, json=change)).json()
        assert (released["quarantine"], released["version"]) == (None, version)


async def test_the_same_again_is_no_version(client, policy) -> None:
    path = f"/admin/policies/{policy['id']}"
    answer = await client.put(path, json={"name": "Mail", "rego_policy": READS})
    assert (answer.status_code, answer.json()["version"]) == (200, 1)
    assert (await client.patch(path, json={})).json()["version"] == 1
    assert len(await events_of(client, policy["id"])) == 1


async def test_what_does_not_compile_changes_nothing(client, policy) -> None:
    path = f"/admin/policies/{policy['id']}"
    answer = await client.patch(path, json={"rego_policy": "package mine\nallow if {\n  input.tool ==\n}\n"})
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["line"] in (3, 4)
    assert (await client.get(path)).json() == {key: value for key, value in policy.items() if key != "warnings"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": None}, "name"),
        ({"enabled": None}, "enabled"),
        ({"content": WRITES, "rego_policy": READS}, "content"),
        ({"priority": 1001}, "priority"),
        ({"mode": "loud"}, "mode"),
        ({"quarantine": "because"}, "quarantine"),
        ({"version": 0}, "version"),
        ({"owner": "me"}, "owner"),
        ({"change_note": "n" * 1001}, "change_note"),
        ({"change_note": "nul \0"}, "change_note"),
    ],
)
async def test_bad_fields_of_a_change_are_named(client, policy, body: dict[str, object], field: str) -> None:
    answer = await client.patch(f"/admin/policies/{policy['id']}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == field


async def test_lists_are_filtered(client, policy) -> None:
    await client.post("/admin/policies", json={"name": "Watch", "content": READS, "mode": "shadow", "priority": 3})

    async def names(**wanted: object) -> list[str]:
        return [one["name"] for one in (await client.get("/admin/policies", params=wanted)).json()["data"]]

    assert await names(mode="shadow") == ["Watch"]
    assert await names(mode="enforce") == ["Mail"]
    assert await names(priority=3) == ["Watch"]
    assert await names(quarantined=True) == []
    assert await names(limit=1, offset=1) == ["Mail"]


async def test_another_organization_finds_nothing(running_api, new_organization, policy) -> None:
    async with running_api.as_admin(new_organization().org_id) as stranger:
        path = f"/admin/policies/{policy['id']}"
        for method, where, body in (
            ("PUT", path, {"name": "Mine", "content": READS}),
            ("PATCH", path, {"priority": 1}),
            ("GET", f"{path}/versions", None),
            ("GET", f"{path}/versions/1", None),
            ("GET", f"{path}/diff?from=1&to=1", None),
            ("POST", f"{path}/restore", {"version": 1}),
        ):
            assert (await stranger.request(method, where, json=body)).status_code == 404


async def test_an_approval_of_a_deleted_policy_can_be_decided(gate) -> None:
    """What asked for it is gone; the people who were asked are not, and the action is decided by what they say."""
    admin, agent = gate.person(), gate.as_agent
    action = (await agent.post("/v1/actions", json={"tool": "write", "operation": "it", "params": {}})).json()
    assert action["status"] == "pending_approval"
    [policy] = (await admin.get("/admin/policies")).json()["data"]
    assert (await admin.delete(f"/admin/policies/{policy['id']}")).status_code == 200
    shown = (await admin.get(f"/v1/approvals/{action['approval_id']}")).json()
    assert shown["status"] == "pending"
    approved = await admin.post(f"/v1/approvals/{action['approval_id']}/approve", json={"comment": "fine"})
    assert (approved.status_code, approved.json()["status"]) == (200, "approved")
    assert (await admin.get(f"/v1/actions/{action['id']}")).json()["status"] == "approved"
    # Decided by what is there now: nobody allows it any more.
    again = (await agent.post("/v1/actions", json={"tool": "write", "operation": "it", "params": {}})).json()
    assert (again["status"], again["decision"]["policy_id"]) == ("denied", None)
