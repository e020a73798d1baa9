import pytest

REGO = 'package mine\n\nallow if input.tool == "mail"\n'


async def test_a_policy_is_created_listed_read_and_deleted(running_api, organization) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.post("/admin/policies", json={"name": "Mail", "rego_policy": REGO})
        assert answer.status_code == 201, answer.text
        policy = answer.json()
        assert policy.pop("warnings") == []
        assert (policy["version"], policy["priority"], policy["enabled"]) == (1, 100, True)
        assert policy["description"] is None
        assert (await client.get(f"/admin/policies/{policy['id']}")).json() == policy
        listed = (await client.get("/admin/policies", params={"name": "mai"})).json()
        assert listed == {"data": [policy], "pagination": {"total": 1, "limit": 50, "offset": 0}}
        assert (await client.get("/admin/policies", params={"enabled": False})).json()["data"] == []
        assert (await client.delete(f"/admin/policies/{policy['id']}")).status_code == 200
        assert (await client.get(f"/admin/policies/{policy['id']}")).status_code == 404
        assert (await client.delete(f"/admin/policies/{policy['id']}")).status_code == 404


async def test_an_allow_that_hides_a_hold_is_told(running_api, organization) -> None:
    hold = 'package later\n\nrequire_approval if input.tool == "mail"\n'
    async with running_api.as_admin(organization.org_id) as client:
        await client.post("/admin/policies", json={"name": "Hold mail", "rego_policy": hold, "priority": 200})
        answer = await client.post("/admin/policies", json={"name": "Mail", "rego_policy": REGO, "priority": 10})
    assert answer.status_code == 201
    assert any("Hold mail" in warning for warning in answer.json()["warnings"])


async def test_bad_rego_is_told_by_line_and_column(running_api, organization) -> None:
    rego = "package mine\n\nallow if {\n  input.tool ==\n}\n"
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.post("/admin/policies", json={"name": "Broken", "rego_policy": rego})
        assert (await client.get("/admin/policies")).json()["data"] == []
    assert answer.status_code == 400
    details = answer.json()["error"]["details"]
    assert details["line"] in (4, 5)
    assert details["column"] >= 1
    assert "source_line" in details or "line_text" in details or "source" in details


@pytest.mark.parametrize(
    ("rego", "line", "column"),
    [
        ('package mine\n\nallow if {\n  regex.match("a(b", input.tool)\n}\n', 4, 15),
        ("package mine\n\npattern := `[z-a]`\n\nallow if regex.match(pattern, input.tool)\n", 3, 12),
    ],
)
async def test_a_wrong_pattern_is_told_by_line_and_column(running_api, organization, rego, line, column) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.post("/admin/policies", json={"name": "Broken", "rego_policy": rego})
        assert (await client.get("/admin/policies")).json()["data"] == []
    assert answer.status_code == 400
    details = answer.json()["error"]["details"]
    assert (details["line"], details["column"]) == (line, column)
    assert "error parsing regexp" in answer.text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "n" * 256}, "name"),
        ({"rego_policy": ""}, "rego_policy"),
        ({"description": "d" * 1001}, "description"),
        ({"priority": 1001}, "priority"),
        ({"priority": "5"}, "priority"),
        ({"enabled": "yes"}, "enabled"),
        ({"enabled": 1}, "enabled"),
        ({"priority": -1}, "priority"),
        ({"priority": "high"}, "priority"),
        ({"content": REGO}, "content"),  # beside rego_policy
        ({"name": "nul \0"}, "name"),
    ],
)
async def test_bad_fields_are_named(running_api, organization, change: dict[str, object], field: str) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.post("/admin/policies", json={"name": "Mail", "rego_policy": REGO} | change)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == field
