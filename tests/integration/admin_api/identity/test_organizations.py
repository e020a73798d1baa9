"""Organizations as the operator makes them; who belongs to them, by invitation and by roles given here."""

import html
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from admin_api.access import ACCESS
from headgate.agents.scopes import Scope
from headgate.db.database import Connection
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.destinations import Allowlist
from headgate.organizations.model import Role
from headgate.organizations.store import generation
from headgate.organizations.stored_rules import destination_rules
from tests.integration.admin_api.identity.conftest import House


async def _made(client: Any, path: str, body: dict[str, Any], status: int = 201) -> Any:
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def _operator(api: Any, org_id: str) -> Any:
    return api.as_role(org_id, Role.OPERATOR, subject="olga")


async def test_an_operator_makes_an_organization_that_works(running_api, organization) -> None:
    async with _operator(running_api, organization.org_id) as olga:
        made = await _made(olga, "/admin/organizations", {"name": "Acme"})
        listed = (await olga.get("/admin/organizations", params={"limit": 1})).json()
        assert (listed["data"], listed["pagination"]["next_cursor"]) == ([made], made["id"])
        after = (await olga.get("/admin/organizations", params={"cursor": made["id"]})).json()["data"]
        assert made["id"] not in [one["id"] for one in after]
        assert organization.org_id in [one["id"] for one in after]
        assert (await olga.get(f"/admin/organizations/{made['id']}")).json()["name"] == "Acme"
        # She looks after organizations, and is nobody in them.
        assert (await olga.get("/admin/agents")).status_code == 403
    async with running_api.as_admin(made["id"]) as admin:
        assert (await admin.get("/admin/policies")).json()["pagination"]["total"] > 0
        agent = await _made(admin, "/admin/agents", {"name": "Robot"})
        (created,) = (await admin.get("/admin/audit", params={"event_type": "organization.created"})).json()["data"]
        assert created["data"]["name"] == "Acme"
    async with running_api.client(X_Agent_Key=agent["api_key"]["key"]) as robot:
        body = {"tool": "http", "operation": "get", "params": {"url": "https://example.com/"}}
        assert (await robot.post("/v1/actions", json=body)).json()["status"] == "allowed"


async def test_a_tenant_opens_no_private_address_that_the_operator_has_not(running_api, organization) -> None:
    async with _operator(running_api, organization.org_id) as olga:
        tenant = (await _made(olga, "/admin/organizations", {"name": "Tenant"}))["id"]
        path = f"/admin/organizations/{tenant}/private-destinations"
        assert (await olga.get(path)).json() == {"unrestricted": False, "destinations": []}
        states, loopback = running_api.dependencies.states, ip_address("127.0.0.1")

        async def read_rules(connection: Connection) -> Allowlist:
            stored = await destination_rules(connection, tenant)
            loaded = await states.at_least(tenant, await generation(connection, tenant))
            assert stored == loaded.allowlist
            return stored

        async def permits(port: int) -> bool:
            # In the API's own loop, which its lock of states and its connections belong to.
            return (await running_api.in_transaction(tenant, read_rules)).permits("localhost", loopback, port)

        def listed(*hosts: str) -> dict[str, object]:
            return {"destinations": [{"host": host, "private": True} for host in hosts]}

        async with running_api.as_admin(tenant) as admin:
            for host in ("127.0.0.1", "localhost", "10.0.0.0/8", "::1"):
                refused = await admin.put("/admin/settings/allowlist", json=listed(host))
                assert (refused.status_code, "operator" in refused.json()["error"]["message"]) == (400, True)

            opened = {"destinations": [{"host": "127.0.0.1", "ports": [8443]}]}
            answer = await olga.put(path, json=opened)
            assert answer.status_code == 200, answer.text
            assert answer.json()["destinations"] == [{"host": "127.0.0.1/32", "ports": [8443], "note": ""}]
            assert not await permits(8443)  # the tenant has not listed it
            accepted = await admin.put("/admin/settings/allowlist", json=listed("127.0.0.0/8", "localhost"))
            assert accepted.status_code == 200, accepted.text
            assert (await permits(8443), await permits(5432)) == (True, False)
            beyond = await admin.put("/admin/settings/allowlist", json=listed("10.0.0.0/8"))
            assert beyond.status_code == 400

            # Bounds that are narrowed count at once, whatever the tenant listed before.
            await olga.put(path, json={"destinations": []})
            assert not await permits(8443)
            (changed, *_) = (await admin.get("/admin/audit", params={"event_type": "setting.changed"})).json()["data"]
            assert changed["data"]["name"] == "private_destinations"
            # Their settings route is the operator's alone.
            assert (await admin.put(path, json=opened)).status_code == 403


async def test_nobody_else_is_an_operator(running_api, organization) -> None:
    routes = [(method, path) for (method, path), access in ACCESS.items() if access.scope is Scope.OPERATOR]
    assert len(routes) == 10
    _, key = await running_api.key(organization.org_id, Scope.ADMIN, Scope.AUDIT_READ)
    clients = [running_api.as_admin(organization.org_id), running_api.client(Authorization=f"Bearer {key}")]
    for client in clients:
        async with client:
            for method, path in routes:
                target = path.replace("{}", organization.org_id)
                answer = await client.request(method, target, json={})
                assert (answer.status_code, answer.json()["error"]["details"]) == (
                    403, {"missing_scope": "operator:*"},
                ), path  # fmt: skip
    # No key carries it, and no administrator gives it away.
    async with running_api.as_admin(organization.org_id) as admin:
        answer = await admin.post("/admin/keys", json={"name": "x", "scopes": ["operator:*"]})
        assert answer.status_code == 400
        user = (await admin.get("/auth/session")).json()["user_id"]
        answer = await admin.put(f"/admin/users/{user}/roles", json={"roles": ["operator"]})
        assert answer.status_code == 400


async def test_what_is_not_there(running_api, organization) -> None:
    async with _operator(running_api, organization.org_id) as olga:
        nowhere = f"/admin/organizations/{new_id(IdPrefix.ORGANIZATION)}"
        roles, invitation = {"roles": ["viewer"]}, {"email": "a@example.com", "roles": ["viewer"]}
        here = f"/admin/organizations/{organization.org_id}"
        answers = [
            await olga.get(nowhere),
            await olga.get(f"{nowhere}/members"),
            await olga.get(f"{nowhere}/invitations"),
            await olga.post(f"{nowhere}/invitations", json=invitation),
            await olga.put(f"{here}/members/{new_id(IdPrefix.USER)}/roles", json=roles),
            await olga.delete(f"{here}/invitations/{new_id(IdPrefix.INVITATION)}"),
        ]
        assert [one.status_code for one in answers] == [404] * 6
        for body in (
            {"email": "no address", "roles": ["viewer"]},
            {"email": "a@example.com", "roles": []},
            {"email": "a@example.com", "roles": ["operator"]},
            {"email": "a@example.com", "roles": ["viewer"], "expires_in_hours": 0},
            {"email": "a@example.com", "roles": ["viewer"], "more": 1},
        ):
            assert (await olga.post(f"{here}/invitations", json=body)).status_code == 400, body


async def test_roles_that_are_given_here(running_api, organization) -> None:
    async with (
        running_api.as_admin(organization.org_id) as admin,
        running_api.as_role(organization.org_id, Role.VIEWER, subject="bob") as bob,
        _operator(running_api, organization.org_id) as olga,
    ):
        user = (await bob.get("/auth/session")).json()["user_id"]
        given = await admin.put(f"/admin/users/{user}/roles", json={"roles": ["auditor"]})
        assert (given.json()["roles"], given.json()["granted_roles"]) == (["auditor", "viewer"], ["auditor"])
        # A token says the same as before, so it is looked at again within a minute; here, at once.
        running_api.dependencies.authenticator._seen.clear()
        assert (await bob.get("/admin/audit")).status_code == 200
        taken = await olga.put(f"/admin/organizations/{organization.org_id}/members/{user}/roles", json={"roles": []})
        assert taken.json()["roles"] == ["viewer"]
        running_api.dependencies.authenticator._seen.clear()
        assert (await bob.get("/admin/audit")).status_code == 403
        events = (await admin.get("/admin/audit", params={"event_type": "user.granted"})).json()["data"]
        assert [(one["data"]["from"], one["data"]["to"]) for one in events] == [(["auditor"], []), ([], ["auditor"])]
        members = (await olga.get(f"/admin/organizations/{organization.org_id}/members")).json()["data"]
        assert user in [one["id"] for one in members]


@pytest.fixture
async def open_house(new_house) -> House:
    """Whose provider names no organization: people belong where they were invited to."""
    return await new_house(default_organization=False)


async def _invited(house: House, email: str, org_id: str | None = None, **more: Any) -> Any:
    async with house.api.as_admin(org_id or house.org_id) as admin:
        return await _made(admin, "/admin/invitations", {"email": email, "roles": ["approver"], **more})


async def test_an_invited_person_becomes_a_member(open_house) -> None:
    house = open_house
    async with house.browser() as browser:
        # Carol's provider says that she is an admin, of no organization: that is nothing here.
        assert (await browser.get(await house.sent_back(browser))).status_code == 403
        made = await _invited(house, "Carol@Example.com")
        assert made["address"] == f"{house.api.url}/auth/login?invitation={made['secret']}"
        await house.signed_in(browser, invitation=made["secret"])
        who = (await browser.get("/auth/session")).json()
        assert (who["organization_id"], who["scopes"]) == (
            house.org_id, ["actions:read", "approvals:read", "approvals:write", "policies:read"],
        )  # fmt: skip
        # Once, and afterwards she belongs there without it.
        assert (await browser.get(await house.sent_back(browser, invitation=made["secret"]))).status_code == 403
        await house.signed_in(browser)
        kinds = [kind for kind, _ in house.events("invitation.created", "invitation.accepted", "user.granted")]
        assert kinds == ["invitation.accepted", "invitation.created", "user.granted"]


async def test_an_invitation_is_for_one_address_and_for_a_time(open_house) -> None:
    house = open_house
    async with house.browser() as browser, house.api.as_admin(house.org_id) as admin:
        theirs = await _invited(house, "somebody@example.com")
        taken = await _invited(house, "carol@example.com")
        await admin.delete(f"/admin/invitations/{taken['id']}")
        late = await _invited(house, "carol@example.com")
        house.superuser.execute("UPDATE invitations SET expires_at = now() WHERE invitation_id = %s", [late["id"]])
        for secret in (theirs["secret"], taken["secret"], late["secret"], "made-up"):
            assert (await browser.get(await house.sent_back(browser, invitation=secret))).status_code == 403
        # Dave's provider vouches for no address of his.
        daves = await _invited(house, "dave@example.com")
        address = await house.sent_back(browser, "dave", invitation=daves["secret"])
        assert (await browser.get(address)).status_code == 403
        assert house.events("login.succeeded") == []
        listed = (await admin.get("/admin/invitations")).json()["data"]
        assert [one["status"] for one in listed] == ["open", "expired", "revoked", "open"]
        assert all("secret" not in one for one in listed)
        accepted = await _invited(house, "carol@example.com")
        await house.signed_in(browser, invitation=accepted["secret"])
        assert (await admin.delete(f"/admin/invitations/{accepted['id']}")).status_code == 409


async def test_an_invitation_of_somebody_who_was_shut_out_opens_nothing(open_house) -> None:
    """They may have made it for themselves, under another name."""
    house = open_house
    async with (
        house.browser() as browser,
        house.api.as_role(house.org_id, Role.ADMIN, subject="eve") as eve,
        house.api.as_role(house.org_id, Role.ADMIN, subject="root") as root,
    ):
        made = await _made(eve, "/admin/invitations", {"email": "carol@example.com", "roles": ["admin"]})
        user = (await eve.get("/auth/session")).json()["user_id"]
        assert (await root.post(f"/admin/users/{user}/deactivate")).status_code == 200
        assert (await browser.get(await house.sent_back(browser, invitation=made["secret"]))).status_code == 403
        (listed,) = (await root.get("/admin/invitations")).json()["data"]
        assert listed["status"] == "revoked"


async def test_an_invitation_of_somebody_who_is_no_administrator_any_more_opens_nothing(open_house) -> None:
    """Nor does it once their provider has taken the role away: they may have made it for themselves."""
    house = open_house
    async with (
        house.browser() as browser,
        house.api.as_role(house.org_id, Role.ADMIN, subject="eve") as eve,
        house.api.as_role(house.org_id, Role.VIEWER, subject="eve") as eve_as_she_is_now,
        house.api.as_role(house.org_id, Role.ADMIN, subject="root") as root,
    ):
        made = await _made(eve, "/admin/invitations", {"email": "carol@example.com", "roles": ["admin"]})
        user = (await eve_as_she_is_now.get("/auth/session")).json()["user_id"]
        assert (await browser.get(await house.sent_back(browser, invitation=made["secret"]))).status_code == 403
        assert house.events("invitation.accepted", "user.granted") == []
        # She is one again, by a role given here: what she asked for stands.
        given = await root.put(f"/admin/users/{user}/roles", json={"roles": ["admin"]})
        assert given.status_code == 200, given.text
        await house.signed_in(browser, invitation=made["secret"])


async def test_a_person_of_two_organizations_chooses(open_house, new_organization) -> None:
    house, other = open_house, new_organization().org_id
    async with house.browser() as browser:
        for org_id in (house.org_id, other):
            made = await _invited(house, "carol@example.com", org_id)
            await house.signed_in(browser, invitation=made["secret"])
        page = await browser.get(await house.sent_back(browser))
        assert page.status_code == 200
        assert all(f"organization={org_id}" in page.text for org_id in (house.org_id, other))
        await house.signed_in(browser, organization=other)
        assert (await browser.get("/auth/session")).json()["organization_id"] == other
        strangers = new_organization().org_id
        assert (await browser.get(await house.sent_back(browser, organization=strangers))).status_code == 403
        # She goes over to the first by a link, without signing out.
        others = {one["id"]: one for one in (await browser.get("/auth/session/organizations")).json()["data"]}
        assert other not in others and strangers not in others
        found = others[house.org_id]
        account = html.unescape((await browser.get("/account", headers={"accept": "text/html"})).text)
        assert f'<a href="{found["sign_in_path"]}">{found["name"]}</a>' in account
        asked = dict(parse_qsl(urlsplit(found["sign_in_path"]).query))
        assert asked["organization"] == house.org_id
        await house.signed_in(browser, **asked)
        assert (await browser.get("/auth/session")).json()["organization_id"] == house.org_id
        assert found["id"] not in (await browser.get("/account")).text


async def test_an_issuer_invites_nobody_into_what_it_does_not_speak_for(new_house, new_organization) -> None:
    house = await new_house(organizations="own", default_organization=False)
    other = new_organization().org_id
    made = await _invited(house, "carol@example.com", other)
    async with house.browser() as browser:
        answer = await browser.get(await house.sent_back(browser, invitation=made["secret"]))
        assert answer.status_code == 401
