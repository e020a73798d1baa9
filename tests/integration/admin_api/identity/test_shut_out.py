"""Whoever was shut out stays out: by the token, the session, the sign-in address and the key that they still have."""

from typing import Any

import httpx
import pytest

from admin_api.process_settings import LoginClient, OidcSettings
from headgate.agents.scopes import Scope
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role
from tests.integration.admin_api.identity.conftest import COOKIE, House
from tests.integration.admin_api.identity.provider import SECRET
from tests.integration.admin_api.identity.test_local_sign_in import _address

_OWN = {"Sec-Fetch-Site": "same-origin"}


async def _id(client: httpx.AsyncClient) -> str:
    answer = await client.get("/auth/session")
    assert answer.status_code == 200, answer.text
    return answer.json()["user_id"]


async def _done(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()


async def test_a_deactivated_administrator_does_not_let_themselves_in_again(gate) -> None:
    eve, root = gate.person("eve"), gate.person("root")
    user = await _id(eve)
    key = await gate.key(Scope.ADMIN, user_id=user)
    await _done(await root.post(f"/admin/users/{user}/deactivate"))
    refused = await key.post(f"/admin/users/{user}/reactivate")
    assert refused.status_code == 401, refused.text
    # Every process remembers a person for a minute, and whether they are shut out for less than a second.
    gate.api.let_pass(0.6)
    assert (await eve.post(f"/admin/users/{user}/reactivate")).status_code == 403
    assert (await eve.get("/admin/agents")).status_code == 403


async def test_nobody_reactivates_themselves(gate) -> None:
    """Within the time for which a process remembers them, either."""
    eve, root = gate.person("eve"), gate.person("root")
    user = await _id(eve)
    await _done(await root.post(f"/admin/users/{user}/deactivate"))
    assert not (await eve.post(f"/admin/users/{user}/reactivate")).is_success


async def test_what_was_open_before_stays_closed_after_a_reactivation(gate) -> None:
    """A token or a session that somebody stole is no good again when its owner comes back."""
    stolen, root = gate.person("eve"), gate.person("root")
    user = await _id(stolen)
    await _done(await root.post(f"/admin/users/{user}/deactivate"))
    await _done(await root.post(f"/admin/users/{user}/reactivate"))
    gate.api.let_pass(0.6)
    assert (await stolen.get("/admin/agents")).status_code == 401
    assert (await gate.person("eve").get("/admin/agents")).status_code == 200


async def test_a_session_from_before_stays_closed_after_a_reactivation(house: House) -> None:
    async with house.browser(**_OWN) as carol, house.browser(**_OWN) as dave:
        await house.signed_in(carol)
        await house.signed_in(dave, "dave")
        user = await _id(dave)
        await _done(await carol.post(f"/admin/users/{user}/deactivate"))
        await _done(await carol.post(f"/admin/users/{user}/reactivate"))
        assert (await dave.get("/auth/session")).status_code == 401
        ((_, ended),) = house.events("session.ended")
        assert (ended["user_id"], ended["reason"]) == (user, "revoked")


async def test_signed_out_everywhere_is_without_tokens_and_addresses_too(house: House) -> None:
    address = _address(house.api, house.org_id)
    api, org_id = house.api, house.org_id
    async with (
        api.as_role(org_id, Role.ADMIN, subject="administrator") as stolen,
        api.as_role(org_id, Role.ADMIN, subject="root") as root,
        house.browser(**_OWN) as thief,
        house.browser(**_OWN) as owner,
    ):
        user = await _id(stolen)
        await _done(await root.delete(f"/admin/users/{user}/sessions"))
        api.let_pass(0.6)
        assert (await stolen.get("/admin/agents")).status_code == 401
        assert (await thief.post(address)).status_code == 401
        # What is made from then on works.
        assert (await owner.post(_address(api, org_id))).status_code == 303
        assert await _id(owner) == user


async def test_no_administrator_makes_somebody_break_the_glass(gate) -> None:
    """It is not part of ``admin:*`` (docs/guides/break-glass.md), for oneself, for a key, or by an invitation."""
    eve = gate.person("eve")
    user = await _id(eve)
    for client in (eve, await gate.key(Scope.ADMIN)):
        given = await client.put(f"/admin/users/{user}/roles", json={"roles": ["admin", "break_glass"]})
        assert given.status_code == 400, given.text
        invited = await client.post("/admin/invitations", json={"email": "e@example.com", "roles": ["break_glass"]})
        assert invited.status_code == 400, invited.text


async def test_sessions_of_an_issuer_that_is_not_trusted_any_more(new_house) -> None:
    before = await new_house()
    without = await new_house(oidc=())
    elsewhere = OidcSettings(
        issuer=before.provider.issuer, audience="headgate", login=LoginClient("web", Secret(SECRET)),
        organizations=frozenset({"org_00000000-0000-7000-8000-0000000000ff"}),
    )  # fmt: skip
    not_ours = await new_house(oidc=(elsewhere,))
    async with before.browser() as browser:
        await before.signed_in(browser)
        cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
        assert (await browser.get("/admin/agents")).status_code == 200
    for house in (without, not_ours):
        async with house.browser(**cookie) as same:
            assert (await same.get("/admin/agents")).status_code == 401


async def test_a_session_is_an_operators_while_its_issuer_names_operators(new_house) -> None:
    def oidc(*, names: bool) -> OidcSettings:
        return OidcSettings(
            issuer=provider.issuer, audience="headgate", login=LoginClient("web", Secret(SECRET)),
            default_organization=org_id, names_operators=names,
        )  # fmt: skip

    first = await new_house()
    provider, org_id = first.provider, first.org_id
    naming = await new_house(oidc=(oidc(names=True),))
    async with naming.browser() as browser:
        await naming.signed_in(browser)
        naming.superuser.execute("UPDATE users SET roles = '{operator}' WHERE org_id = %s", [org_id])
        assert (await browser.get("/admin/organizations")).status_code == 200
        cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
    async with first.browser(**cookie) as same:
        assert (await same.get("/admin/organizations")).status_code == 403


async def test_an_older_token_does_not_bring_rights_back(gate, superuser) -> None:
    """It has the rights that it names while it lasts; what is kept of the person is what the newest token said."""
    old = gate.person("eve", Role.ADMIN)
    new = gate.person("eve", Role.VIEWER)
    user = await _id(new)

    def kept() -> list[str]:
        (roles,) = superuser.execute("SELECT roles FROM users WHERE user_id = %s", [user]).fetchone()
        return roles

    assert kept() == ["viewer"]
    assert (await old.get("/admin/agents")).status_code == 200
    assert kept() == ["viewer"]
    assert await _id(gate.person("eve", Role.APPROVER)) == user
    assert kept() == ["approver"]


async def test_keys_that_a_person_made_for_programs_stop_with_them_and_an_agents_do_not(gate) -> None:
    eve, root = gate.person("eve"), gate.person("root")
    user = await _id(eve)
    made = await _done(await eve.post("/admin/keys", json={"name": "pipeline", "scopes": ["admin:*"]}))
    agents = await _done(await eve.post(f"/admin/agents/{gate.agent_id}/keys", json={}))
    program, agent = gate.client(Authorization=f"Bearer {made['key']}"), gate.client(X_Agent_Key=agents["key"])
    assert (await program.get("/admin/agents")).status_code == 200

    shut_out = await _done(await root.post(f"/admin/users/{user}/deactivate"))
    assert (shut_out["keys"], shut_out["agent_keys"], shut_out["also"]) == ([made["id"]], [agents["id"]], [])
    refused = await program.get("/admin/agents")
    assert (refused.status_code, "deactivated" in refused.text) == (401, True)
    assert (await agent.get("/v1/actions")).status_code == 200
    for status, found in (("stopped", [made["id"]]), ("active", [])):
        page = await _done(await root.get("/admin/keys", params={"kind": "admin", "status": status}))
        assert [one["id"] for one in page["data"]] == found
        assert page["pagination"]["total"] == len(found)
    assert (await _done(await root.get(f"/admin/keys/{made['id']}")))["status"] == "stopped"

    await _done(await root.post(f"/admin/users/{user}/reactivate"))
    gate.api.let_pass(1.1)  # what was refused is believed for a second
    assert (await program.get("/admin/agents")).status_code == 200


@pytest.mark.parametrize("kind", ["admin", "webhook"])
async def test_a_persons_key_of_an_issuer_that_is_not_trusted_any_more(gate, superuser, kind: str) -> None:
    """An agent's key is its agent's and goes on; so does a key that no person created."""
    eve, root = gate.person("eve"), gate.person("root")
    user = await _id(eve)
    body = {"name": "pipeline", "kind": kind} | ({"scopes": ["admin:*"]} if kind == "admin" else {})
    made = await _done(await eve.post("/admin/keys", json=body))
    agents = await _done(await eve.post(f"/admin/agents/{gate.agent_id}/keys", json={}))
    program, agent = gate.client(Authorization=f"Bearer {made['key']}"), gate.client(X_Agent_Key=agents["key"])
    nobodys = await gate.key(Scope.ADMIN)
    before = await program.get("/v1/actions")
    superuser.execute("UPDATE users SET issuer = 'https://gone.example' WHERE user_id = %s", [user])
    refused = await program.get("/v1/actions")
    assert (refused.status_code, "no longer trusted" in refused.text) == (401, True)
    assert before.status_code != 401
    assert (await agent.get("/v1/actions")).status_code == 200
    assert (await nobodys.get("/admin/agents")).status_code == 200
    await _done(await root.post(f"/admin/keys/{made['id']}/take-over"))
    assert (await program.get("/v1/actions")).status_code == before.status_code


async def test_somebody_else_takes_a_key_over_and_it_goes_on(gate) -> None:
    eve, root = gate.person("eve"), gate.person("root")
    user, roots = await _id(eve), await _id(root)
    made = await _done(await eve.post("/admin/keys", json={"name": "pipeline", "scopes": ["audit:read"]}))
    program = gate.client(Authorization=f"Bearer {made['key']}")
    await _done(await root.post(f"/admin/users/{user}/deactivate"))
    assert (await program.get("/admin/audit")).status_code == 401
    path = f"/admin/keys/{made['id']}/take-over"
    assert (await (await gate.key(Scope.ADMIN)).post(path)).status_code == 403, "a person's: no key hands itself on"
    assert (await gate.person("vera", Role.VIEWER).post(path)).status_code == 403
    taken = await _done(await root.post(path))
    assert (taken["status"], taken["created_by"]) == ("active", roots)
    assert (await program.get("/admin/audit")).status_code == 200
    told = await _done(await root.get("/admin/audit", params={"event_type": "key.taken_over"}))
    assert [(one["data"]["from"], one["data"]["to"]) for one in told["data"]] == [(user, roots)]
    agents = await _done(await root.post(f"/admin/agents/{gate.agent_id}/keys", json={}))
    assert (await root.post(f"/admin/keys/{agents['id']}/take-over")).status_code == 409
    await _done(await root.delete(f"/admin/keys/{made['id']}"))
    assert (await gate.person("max").post(path)).status_code == 409


async def test_a_person_of_several_issuers_is_shut_out_of_all_and_let_in_one_by_one(gate, superuser) -> None:
    eve, root = gate.person("eve"), gate.person("root")
    user = await _id(eve)
    superuser.execute(
        "INSERT INTO users (org_id, user_id, issuer, subject, email, roles)"
        " VALUES (%s, %s, 'https://other', 'eve2', 'EVE@example.com', '{admin}')",
        [gate.org_id, other := new_id(IdPrefix.USER)],
    )
    shut_out = await _done(await root.post(f"/admin/users/{other}/deactivate"))
    assert [(one["id"], one["deactivated_at"] is not None) for one in shut_out["also"]] == [(user, True)]
    gate.api.let_pass(0.6)
    assert (await eve.get("/admin/agents")).status_code == 403
    let_in = await _done(await root.post(f"/admin/users/{user}/reactivate"))
    assert let_in["deactivated_at"] is None
    assert [(one["id"], one["deactivated_at"] is not None) for one in let_in["also"]] == [(other, True)]


async def test_nobody_shuts_out_another_user_who_they_are_themselves(gate, superuser) -> None:
    root = gate.person("root")
    await _id(root)
    superuser.execute(
        "INSERT INTO users (org_id, user_id, issuer, subject, email, roles)"
        " VALUES (%s, %s, 'https://other', 'root2', 'root@example.com', '{admin}')",
        [gate.org_id, other := new_id(IdPrefix.USER)],
    )
    assert (await root.post(f"/admin/users/{other}/deactivate")).status_code == 409
    superuser.execute("UPDATE users SET deactivated_at = now() WHERE user_id = %s", [other])
    assert (await root.post(f"/admin/users/{other}/reactivate")).status_code == 409


async def test_who_was_shut_out_does_not_come_in_through_another_issuer(gate, superuser) -> None:
    superuser.execute(
        "INSERT INTO users (org_id, user_id, issuer, subject, email, roles, deactivated_at)"
        " VALUES (%s, %s, 'https://other', 'eve2', 'eve@example.com', '{admin}', now())",
        [gate.org_id, old := new_id(IdPrefix.USER)],
    )
    eve = gate.person("eve")
    refused = await eve.get("/auth/session")
    assert (refused.status_code, old in refused.text) == (403, True)
    await _done(await gate.person("root").post(f"/admin/users/{old}/reactivate"))
    assert (await eve.get("/auth/session")).status_code == 200
