"""Data documents and shared modules: versioned, in force at once, and never such that a policy stops working."""

import asyncio

import pytest

USES_DATA = "package mine\n\nallow if input.params.amount <= data.limits.amount\n"
MODULE = 'package lib.names\n\nis_known(name) if name in {"ann", "ben"}\n'
USES_MODULE = "package third\n\nimport data.lib.names\n\nallow if names.is_known(input.params.name)\n"
LIMITS = "/admin/policies/data/limits"
NAMES = "/admin/policies/modules/names"


async def save(admin, rego: str) -> dict[str, object]:
    answer = await admin.post("/admin/policies", json={"name": "Mine", "rego_policy": rego, "priority": 5})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def decision(gate, **params: object) -> str:
    action = {"tool": "pay", "operation": "send", "params": params}
    return (await gate.as_agent.post("/v1/actions", json=action)).json()["decision"]["decision"]


async def test_a_document_is_read_by_policies_from_the_next_call_on(gate) -> None:
    admin = gate.person()
    await save(admin, USES_DATA)
    assert await decision(gate, amount=50) == "deny"
    put = await admin.put(LIMITS, json={"amount": 100}, params={"change_note": "a start"})
    assert (put.status_code, put.json()["version"], put.headers["etag"]) == (200, 1, '"1"')
    assert await decision(gate, amount=50) == "allow"
    await admin.put(LIMITS, json={"amount": 10})
    assert await decision(gate, amount=50) == "deny"
    assert (await admin.get(LIMITS)).json() == {"amount": 10}
    assert (await admin.get(LIMITS, params={"version": 1})).json() == {"amount": 100}
    assert (await admin.put(LIMITS, json={"amount": 10})).json()["version"] == 2  # the same again is no version
    restored = await admin.post(f"{LIMITS}/restore", json={"version": 1})
    assert (restored.json()["version"], await decision(gate, amount=50)) == (3, "allow")
    assert (await admin.delete(LIMITS)).json()["version"] == 4
    assert await decision(gate, amount=50) == "deny"
    assert (await admin.get(LIMITS)).status_code == 404
    versions = (await admin.get(f"{LIMITS}/versions")).json()["data"]
    assert [(one["version"], one["change"], one["change_note"]) for one in versions] == [
        (4, "deleted", None),
        (3, "restored", None),
        (2, "updated", None),
        (1, "created", "a start"),
    ]
    events = (await admin.get("/admin/audit", params={"event_type": "policy_data.changed"})).json()["data"]
    assert [(one["data"]["path"], one["data"]["version"]) for one in events] == [
        ("limits", 3),
        ("limits", 2),
        ("limits", 1),
    ]
    assert all("100" not in str(one["data"]) for one in events)  # a digest, not the document


async def test_paths_nest_and_do_not_overlap(gate) -> None:
    admin = gate.person()
    assert (await admin.put(f"{LIMITS}/hard/one", json=1)).json()["path"] == "limits.hard.one"
    assert (await admin.put(f"{LIMITS}.hard.two", json=[2])).status_code == 200
    assert (await admin.get(f"{LIMITS}/hard/two")).json() == [2]
    inside = await admin.put(LIMITS, json={})
    assert (inside.status_code, "data.limits is a document of its own" in inside.text) == (400, True)
    listed = (await admin.get("/admin/policies/data")).json()
    assert [one["path"] for one in listed["data"]] == ["limits.hard.one", "limits.hard.two"]
    # What is no path of a document is an address that is not there (docs/reference/contract.md).
    for path in ("allowlist", "lib/x", "a-b", "a//b"):
        assert (await admin.put(f"/admin/policies/data/{path}", json={})).status_code == 404
    assert (await admin.put(LIMITS, content=b'{"a":1,"a":2}')).status_code == 400
    assert (await admin.put("/admin/policies/data/big", content=b'"' + b"x" * 600_000 + b'"')).status_code == 400


async def test_a_change_with_which_a_policy_would_stop_working_is_refused(gate) -> None:
    admin = gate.person()
    policy = await save(admin, USES_DATA)
    hidden = await admin.put("/admin/policies/data/mine", json={"allow": True})
    assert hidden.status_code == 400
    assert hidden.json()["error"]["details"]["policy_id"] == policy["id"]
    assert (await admin.get("/admin/policies/data")).json()["data"] == []
    await admin.put(LIMITS, json={"amount": 1})
    assert await decision(gate, amount=1) == "allow"


async def test_an_outdated_change_is_refused(gate) -> None:
    admin = gate.person()
    await admin.put(LIMITS, json=1)
    await admin.put(LIMITS, json=2)
    assert (await admin.put(LIMITS, json=3, headers={"If-Match": '"1"'})).status_code == 412
    assert (await admin.delete(LIMITS, headers={"If-Match": '"1"'})).status_code == 412
    assert (await admin.put(LIMITS, json=3, headers={"If-Match": '"2"'})).status_code == 200
    answers = await asyncio.gather(*(admin.put(LIMITS, json=number) for number in range(10, 14)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    versions = (await admin.get(f"{LIMITS}/versions")).json()["pagination"]["total"]
    assert versions == 3 + sum(answer.status_code == 200 for answer in answers)


async def test_a_module_is_shared_and_cannot_be_broken(gate) -> None:
    admin = gate.person()
    missing = await admin.post("/admin/policies", json={"name": "Early", "rego_policy": USES_MODULE})
    put = await admin.put(NAMES, json={"content": MODULE, "change_note": "who we know", "version": 0})
    assert (put.status_code, put.json()["package"], put.json()["version"]) == (200, "lib.names", 1)
    assert missing.status_code == 400
    await save(admin, USES_MODULE)
    assert (await decision(gate, name="ann"), await decision(gate, name="eve")) == ("allow", "deny")
    more = MODULE.replace('"ben"', '"eve"')
    assert (await admin.put(NAMES, json={"content": more, "version": 1})).json()["version"] == 2
    assert (await decision(gate, name="eve"), await decision(gate, name="ben")) == ("allow", "deny")
    for broken in (
        "package lib.names\n\nis_known(name, other) if name == other\n",  # another arity
        "package lib.names\n\nis_known(name) if {",
        "package lib.other\n\nis_known(name) if name\n",
        "package mine\n\nallow if true\n",
    ):
        refused = await admin.put(NAMES, json={"content": broken})
        assert refused.status_code == 400, broken
    assert (await admin.delete(NAMES)).status_code == 400  # a policy needs it
    assert await decision(gate, name="eve") == "allow"
    assert (await admin.put(NAMES, json={"content": MODULE, "version": 1})).status_code == 409
    assert (await admin.post(f"{NAMES}/restore", json={"version": 1})).json()["content"] == MODULE
    shown = (await admin.get(NAMES, params={"version": 2})).json()
    assert (shown["content"], shown["version"]) == (more, 2)
    assert (await admin.get("/admin/policies/modules")).json()["pagination"]["total"] == 1
    assert len((await admin.get(f"{NAMES}/versions")).json()["data"]) == 3


async def test_tests_and_dry_runs_see_them_too(gate) -> None:
    admin = gate.person()
    await admin.put(LIMITS, json={"amount": 100})
    await admin.put(NAMES, json={"content": MODULE})
    await save(admin, USES_MODULE)
    asked = {"action": {"tool": "pay", "operation": "send", "params": {"name": "ann"}}}
    assert (await admin.post("/v1/dry-run", json=asked)).json()["decision"] == "allow"
    tested = {"rego_policy": USES_DATA + '\ntest_it if allow with input as {"params": {"amount": 100}}\n'}
    assert (await admin.post("/admin/policies/test", json={"policies": [tested]})).json()["passed"]
    imports = {"rego_policy": USES_MODULE + '\ntest_it if allow with input as {"params": {"name": "ben"}}\n'}
    assert (await admin.post("/admin/policies/test", json={"policies": [imports]})).json()["passed"]


@pytest.mark.parametrize("path", [LIMITS, NAMES])
async def test_strangers_and_readers_change_nothing(gate, new_gate, path: str) -> None:
    admin = gate.person()
    body = {"content": MODULE} if path == NAMES else {"amount": 1}
    assert (await admin.put(path, json=body)).status_code == 200
    stranger = (await new_gate()).person()
    assert (await stranger.get(path)).status_code == 404
    assert (await stranger.get(f"{path}/versions")).status_code == 404
    assert (await stranger.delete(path)).status_code == 404
