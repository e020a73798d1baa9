"""POST /admin/policies/check, and the same warnings when a policy is saved."""

import pytest

HOLD = 'package later\n\nrequire_approval if input.tool == "mail"\n'
ALLOW = 'package mine\n\nallow if input.tool == "mail"\n'
ODD = 'package odd\n\nallow if input.http.hostname == "a"\n\nhelper := 1\n'


@pytest.fixture
async def client(running_api, organization):
    async with running_api.as_admin(organization.org_id) as made:
        yield made


async def test_a_check_says_what_saving_would_and_stores_nothing(client) -> None:
    checked = await client.post("/admin/policies/check", json={"content": ODD})
    assert checked.status_code == 200, checked.text
    warnings = checked.json()["warnings"]
    assert [warning.split(" ")[0] for warning in warnings] == ["policy.rego:3:10:", "policy.rego:5:1:"]
    assert "input.http.hostname does not exist" in warnings[0]
    assert "helper is never used" in warnings[1]
    assert (await client.get("/admin/policies")).json()["data"] == []
    saved = await client.post("/admin/policies", json={"name": "Odd", "rego_policy": ODD})
    assert (saved.status_code, saved.json()["warnings"]) == (201, warnings)


async def test_hidden_restrictions_are_foreseen(client) -> None:
    held = (await client.post("/admin/policies", json={"name": "Hold", "rego_policy": HOLD, "priority": 200})).json()
    [warning] = (await client.post("/admin/policies/check", json={"rego_policy": ALLOW, "name": "Go"})).json()[
        "warnings"
    ]
    assert '"Go"' in warning
    assert '"Hold"' in warning
    instead = {"rego_policy": ALLOW, "policy_id": held["id"]}
    assert (await client.post("/admin/policies/check", json=instead)).json()["warnings"] == []
    shadow = {"rego_policy": ALLOW, "mode": "shadow"}
    assert (await client.post("/admin/policies/check", json=shadow)).json()["warnings"] == []


async def test_bad_rego_is_told_by_place(client) -> None:
    answer = await client.post("/admin/policies/check", json={"rego_policy": "package a\n\nallow if foo(1)\n"})
    assert answer.status_code == 400
    details = answer.json()["error"]["details"]
    assert (details["file"], details["line"], details["column"]) == ("policy.rego", 3, 10)
    assert details["source"] == "allow if foo(1)"


async def test_a_second_policy_of_the_same_name_is_named(client) -> None:
    first = (await client.post("/admin/policies", json={"name": "Hold", "rego_policy": HOLD})).json()
    assert first["warnings"] == []
    second = (await client.post("/admin/policies", json={"name": "Hold", "rego_policy": HOLD})).json()
    assert second["warnings"] == [f"another policy has the same name: {first['id']}; update that policy to replace it"]
    again = await client.patch(f"/admin/policies/{first['id']}", json={"description": "Mail"})
    assert (again.status_code, len(again.json()["warnings"])) == (200, 1)
