"""About which calls a policy is asked, as its author can see it."""

import pytest

_TEXT = """package mine

allow if input.tool == "mail"

deny if {
	input.tool == "mail"
	input.operation == "send"
}
"""


@pytest.fixture
async def client(running_api, organization):
    async with running_api.as_admin(organization.org_id) as made:
        yield made


async def test_what_a_policy_was_indexed_on(client) -> None:
    created = (await client.post("/admin/policies", json={"name": "Mail", "content": _TEXT})).json()
    shown = (await client.get(f"/admin/policies/{created['id']}/index")).json()

    assert shown == {
        "policy_id": created["id"],
        "version": 1,
        "derived": True,
        "asked": 'input.tool == "mail"',
        "says": {
            "deny": 'input.tool == "mail" and input.operation == "send"',
            "require_approval": "never",
            "allow": 'input.tool == "mail"',
        },
    }


async def test_of_one_that_cannot_be_narrowed_it_says_so(client) -> None:
    text = "package mine\n\nallow if count(input.params) < 3\n"
    created = (await client.post("/admin/policies", json={"name": "Any", "content": text})).json()

    assert (await client.get(f"/admin/policies/{created['id']}/index")).json()["asked"] == "always"


async def test_another_organizations_policy_is_not_there(client) -> None:
    assert (await client.get("/admin/policies/pol_01a1fe8c-c1dc-7733-8342-f63a1b4cb957/index")).status_code == 404
