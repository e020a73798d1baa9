"""Without a provider: an invited person makes a passkey and signs in with it. What attackers send is refused."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from headgate.kernel.public_roots import public_roots
from headgate.organizations.model import Role
from tests.free_port import free_port
from tests.soft_authenticator import SoftAuthenticator

_OWN = {"Sec-Fetch-Site": "same-origin"}
_OPTIONS = "/auth/passkey/options"


@pytest.fixture
async def api(start_api):
    port = free_port()
    return await start_api(port=port, public_url=f"http://localhost:{port}")


@pytest.fixture
def origin(api) -> str:
    return api.url.replace("127.0.0.1", "localhost")  # type: ignore[no-any-return]


@pytest.fixture
async def browser(origin) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        verify=public_roots(), base_url=origin, trust_env=False, timeout=60, headers=_OWN
    ) as one:
        yield one


async def _invite(api, org_id: str, email: str = "ben@example.com") -> str:
    """The secret of the link."""
    async with api.as_admin(org_id) as admin:
        made = await admin.post("/admin/invitations", json={"email": email, "roles": ["approver"]})
        assert made.status_code == 201, made.text
    found = re.fullmatch(r"http://localhost:\d+/auth/login\?invitation=(\S+)", made.json()["address"])
    assert found is not None, made.json()["address"]
    return found[1]


async def _to_join(browser: httpx.AsyncClient, secret: str) -> dict[str, Any]:
    answer = await browser.post("/auth/invitation/options", json={"invitation": secret})
    assert answer.status_code == 200, answer.text
    return answer.json()["public_key"]  # type: ignore[no-any-return]


async def _join(browser: httpx.AsyncClient, secret: str, device: SoftAuthenticator) -> httpx.Response:
    made = device.create(await _to_join(browser, secret))
    return await browser.post("/auth/invitation", data={"invitation": secret, "name": "Ben", "response": made})


async def _member(api, browser: httpx.AsyncClient, org_id: str, device: SoftAuthenticator) -> None:
    joined = await _join(browser, await _invite(api, org_id), device)
    assert (joined.status_code, joined.headers["location"]) == (303, "/inbox"), joined.text
    browser.cookies.clear()


async def _options(browser: httpx.AsyncClient) -> dict[str, Any]:
    return (await browser.post(_OPTIONS)).json()["public_key"]  # type: ignore[no-any-return]


async def _sign_in(browser: httpx.AsyncClient, response: str, **fields: str) -> httpx.Response:
    return await browser.post("/auth/passkey", data={"response": response, **fields})


async def test_an_invited_person_joins_and_signs_in_again(api, organization, browser, origin) -> None:
    secret = await _invite(api, organization.org_id)
    page = await browser.get("/auth/login", params={"invitation": secret})
    assert (page.status_code, "ben@example.com" in page.text, "Create a passkey" in page.text) == (200, True, True)
    device = SoftAuthenticator(origin, "localhost")
    joined = await _join(browser, secret, device)
    assert (joined.status_code, joined.headers["location"]) == (303, "/inbox"), joined.text
    who = (await browser.get("/auth/session")).json()
    assert (who["email"], who["name"], who["roles"], who["aal"]) == ("ben@example.com", "Ben", ["approver"], "aal2")
    assert (await browser.get("/inbox")).status_code == 200
    browser.cookies.clear()
    answer = await _sign_in(browser, device.get(await _options(browser)), return_to="/account")
    assert (answer.status_code, answer.headers["location"]) == (303, "/account")
    assert (await browser.get("/auth/session")).json()["user_id"] == who["user_id"]
    async with api.as_admin(organization.org_id) as admin:
        events = (await admin.get("/admin/audit", params={"limit": 50})).json()["data"]
    told = [one["event_type"] for one in events]
    assert {"invitation.accepted", "passkey.registered", "login.succeeded"} <= set(told)


async def test_an_invitation_works_once_and_says_so(api, organization, browser, origin) -> None:
    secret = await _invite(api, organization.org_id)
    asked = await _to_join(browser, secret)  # begun before the other one was done
    assert (await _join(browser, secret, SoftAuthenticator(origin, "localhost"))).status_code == 303
    late = SoftAuthenticator(origin, "localhost").create(asked)
    answer = await browser.post("/auth/invitation", data={"invitation": secret, "response": late})
    assert (answer.status_code, "not open" in answer.text) == (403, True)
    page = await browser.get("/auth/login", params={"invitation": secret})
    assert (page.status_code, "not open" in page.text) == (403, True)
    assert (await browser.post("/auth/invitation/options", json={"invitation": secret})).status_code == 403


async def test_an_answer_for_one_invitation_opens_no_other(
    api, organization, new_organization, browser, origin
) -> None:
    mine, theirs = await _invite(api, organization.org_id), await _invite(api, new_organization().org_id)
    made = SoftAuthenticator(origin, "localhost").create(await _to_join(browser, mine))
    answer = await browser.post("/auth/invitation", data={"invitation": theirs, "response": made})
    assert answer.status_code == 401


async def test_a_passkey_is_one_users_over_all_organizations(
    api, organization, new_organization, browser, origin
) -> None:
    device = SoftAuthenticator(origin, "localhost")
    await _member(api, browser, organization.org_id, device)
    other = new_organization().org_id
    secret = await _invite(api, other)
    assert (await _join(browser, secret, device)).status_code == 409
    # Nothing of it stays: the invitation is open.
    assert (await _join(browser, secret, SoftAuthenticator(origin, "localhost"))).status_code == 303
    browser.cookies.clear()
    assert (await _sign_in(browser, device.get(await _options(browser)))).status_code == 401  # another user's handle


_FORGED = {
    "another origin": {"origin": "http://evil.example"},
    "another port": {"origin": "http://localhost:1"},
    "a subdomain": {"origin": "http://a.localhost"},
    "another relying party": {"rp_id": "evil.example"},
    "no PIN": {"verifies": False},
    "a frame of another site": {"cross_origin": True},
}


@pytest.mark.parametrize("change", _FORGED.values(), ids=_FORGED)
async def test_what_is_signed_for_something_else_is_refused(api, organization, browser, origin, change) -> None:
    honest = SoftAuthenticator(origin, "localhost")
    await _member(api, browser, organization.org_id, honest)
    forged = replace(honest, **change)
    assert (await _sign_in(browser, forged.get(await _options(browser)))).status_code == 401
    secret = await _invite(api, organization.org_id)
    fresh = SoftAuthenticator(**({"origin": origin, "rp_id": "localhost"} | change))
    assert (await _join(browser, secret, fresh)).status_code == 401
    async with api.as_admin(organization.org_id) as admin:
        (failed,) = (await admin.get("/admin/audit", params={"event_type": "login.failed"})).json()["data"]
    assert "refused" in failed["data"]["reason"]


async def test_what_answers_no_open_question_is_refused(api, organization, browser, origin) -> None:
    device = SoftAuthenticator(origin, "localhost")
    await _member(api, browser, organization.org_id, device)
    answer = device.get(await _options(browser))
    assert (await _sign_in(browser, answer)).status_code == 303
    browser.cookies.clear()
    for name, replayed in {
        "the same answer": answer,
        "a challenge of one's own": device.get({"challenge": "A" * 43}),
        "one to register": device.get(await _to_join(browser, await _invite(api, organization.org_id))),
        "no passkey here": SoftAuthenticator(origin, "localhost").get(await _options(browser)),
        "another's key": replace(
            SoftAuthenticator(origin, "localhost"), credential_id=device.credential_id, user_handle=device.user_handle
        ).get(await _options(browser)),
        "another's handle": replace(device, user_handle=b"x").get(await _options(browser)),
    }.items():
        refused = await _sign_in(browser, replayed)
        assert (refused.status_code, "set-cookie" in refused.headers) == (401, False), name


async def test_a_challenge_ends(api, organization, browser, origin, superuser) -> None:
    device = SoftAuthenticator(origin, "localhost")
    await _member(api, browser, organization.org_id, device)
    asked = await _options(browser)
    superuser.execute("UPDATE passkey_challenges SET expires_at = clock_timestamp()")
    assert (await _sign_in(browser, device.get(asked))).status_code == 401


async def test_a_counter_that_does_not_grow_is_a_copy(api, organization, browser, origin) -> None:
    device = SoftAuthenticator(origin, "localhost", count=5)
    await _member(api, browser, organization.org_id, device)
    for count, status in ((6, 303), (6, 401), (5, 401), (0, 401), (7, 303)):
        device.count = count
        browser.cookies.clear()
        assert (await _sign_in(browser, device.get(await _options(browser)))).status_code == status, count


@pytest.mark.parametrize(
    "response", ["", "{", "[]", "{}", '{"response": {}}', json.dumps({"id": "AA", "rawId": "AA", "response": []}), "1"]
)
async def test_what_is_no_answer_is_refused(browser, response: str) -> None:
    assert (await _sign_in(browser, response)).status_code in {400, 401}


async def test_another_site_posts_nothing(api, organization, browser, origin) -> None:
    device = SoftAuthenticator(origin, "localhost")
    await _member(api, browser, organization.org_id, device)
    answer = device.get(await _options(browser))
    forged = await browser.post("/auth/passkey", data={"response": answer}, headers={"Sec-Fetch-Site": "cross-site"})
    assert forged.status_code == 403


async def test_a_person_adds_and_removes_passkeys_with_what_they_have(api, organization, browser, origin) -> None:
    first, second = SoftAuthenticator(origin, "localhost"), SoftAuthenticator(origin, "localhost")
    assert (await _join(browser, await _invite(api, organization.org_id), first)).status_code == 303
    asked = (await browser.post("/v1/passkeys/options")).json()["public_key"]
    assert len(asked["excludeCredentials"]) == 1
    added = await browser.post("/account/passkeys", data={"name": "Phone \u202e", "response": second.create(asked)})
    assert added.status_code == 303, added.text
    listed = (await browser.get("/v1/passkeys")).json()["data"]
    assert [one["name"] for one in listed] == ["First passkey", "Phone \u202e"]
    page = await browser.get("/account")
    assert "\u202e" not in page.text
    assert (await browser.post("/account/passkeys", data={"remove": listed[0]["id"]})).status_code == 303
    browser.cookies.clear()
    assert (await _sign_in(browser, first.get(await _options(browser)))).status_code == 401
    assert (await _sign_in(browser, second.get(await _options(browser)))).status_code == 303


async def test_other_sessions_end_with_a_passkey(api, organization, browser, origin) -> None:
    """One of them may be open on the device that was lost."""
    device = SoftAuthenticator(origin, "localhost")
    assert (await _join(browser, await _invite(api, organization.org_id), device)).status_code == 303
    async with httpx.AsyncClient(
        verify=public_roots(), base_url=origin, trust_env=False, timeout=60, headers=_OWN
    ) as lost:
        assert (await _sign_in(lost, device.get(await _options(lost)))).status_code == 303
        assert (await lost.get("/auth/session")).status_code == 200
        [passkey] = (await browser.get("/v1/passkeys")).json()["data"]
        assert (await browser.delete(f"/v1/passkeys/{passkey['id']}")).status_code == 200
        assert (await lost.get("/auth/session")).status_code == 401
    assert (await browser.get("/auth/session")).status_code == 200


async def test_recovery_codes_end_with_the_last_passkey(api, organization, browser, origin, superuser) -> None:
    first, second = SoftAuthenticator(origin, "localhost"), SoftAuthenticator(origin, "localhost")
    assert (await _join(browser, await _invite(api, organization.org_id), first)).status_code == 303
    asked = (await browser.post("/v1/passkeys/options")).json()["public_key"]
    assert (
        await browser.post("/account/passkeys", data={"name": "Phone", "response": second.create(asked)})
    ).is_redirect
    assert (await browser.post("/v1/mfa/recovery-codes/generate")).status_code == 200
    known = [one["id"] for one in (await browser.get("/v1/passkeys")).json()["data"]]
    removed = await asyncio.gather(*(browser.delete(f"/v1/passkeys/{one}") for one in known))
    assert [one.status_code for one in removed] == [200, 200]
    assert (await browser.get("/v1/mfa/recovery-codes/status")).json()["unused"] == 0
    told = superuser.execute("SELECT event_type FROM journal WHERE org_id = %s", [organization.org_id]).fetchall()
    assert [one for (one,) in told].count("mfa_codes.purged") == 1


async def test_one_factor_adds_no_second_passkey_and_removes_none(api, organization, browser, origin) -> None:
    """Who has a stolen session of one factor does not make themselves a way in."""
    token = api.token(organization.org_id, Role.VIEWER, subject="val")
    async with api.client(Authorization=f"Bearer {token}") as val:
        device = SoftAuthenticator(origin, "localhost")
        made = device.create((await val.post("/v1/passkeys/options")).json()["public_key"])
        added = await val.post("/v1/passkeys", json={"name": "Laptop", "response": json.loads(made)})
        assert added.status_code == 201, added.text
        assert (await val.post("/v1/passkeys/options")).status_code == 403
        assert (await val.delete(f"/v1/passkeys/{added.json()['id']}")).status_code == 403
    async with api.as_admin(organization.org_id) as other:
        assert (await other.get("/v1/passkeys")).json()["data"] == []


async def test_a_deactivated_person_does_not_sign_in(api, organization, browser, origin) -> None:
    device = SoftAuthenticator(origin, "localhost")
    joined = await _join(browser, await _invite(api, organization.org_id), device)
    assert joined.status_code == 303
    user_id = (await browser.get("/auth/session")).json()["user_id"]
    async with api.as_admin(organization.org_id) as admin:
        assert (await admin.post(f"/admin/users/{user_id}/deactivate", json={})).status_code == 200
    browser.cookies.clear()
    assert (await _sign_in(browser, device.get(await _options(browser)))).status_code == 403


@pytest.mark.parametrize("public_url", [None, "http://gate.example.com", "https://192.0.2.7"])
async def test_where_nobody_could_accept_nobody_is_invited(start_api, organization, public_url) -> None:
    api = await start_api(public_url=public_url)
    async with api.as_admin(organization.org_id) as admin:
        made = await admin.post("/admin/invitations", json={"email": "ben@example.com", "roles": ["viewer"]})
        assert (made.status_code, "HEADGATE_PUBLIC_API_URL" in made.text) == (409, True)
        assert (await admin.get("/admin/invitations")).json()["data"] == []
        assert (await admin.post(_OPTIONS)).status_code == 403


async def test_switched_off(start_api, organization) -> None:
    port = free_port()
    public = f"http://localhost:{port}"
    on = await start_api(port=port, public_url=public)
    secret = await _invite(on, organization.org_id)
    async with httpx.AsyncClient(
        verify=public_roots(), base_url=public, trust_env=False, timeout=60, headers=_OWN
    ) as one:
        device = SoftAuthenticator(public, "localhost")
        await _member(on, one, organization.org_id, device)
        options = await _options(one)

    off = await start_api(port=free_port(), public_url=public, passkeys=False)
    async with httpx.AsyncClient(
        verify=public_roots(), base_url=off.url, trust_env=False, timeout=60, headers=_OWN
    ) as browser:
        page = (await browser.get("/auth/login")).text
        assert "headgate login" in page
        assert "passkey" not in page
        for path, body in ((_OPTIONS, {}), ("/auth/invitation/options", {"invitation": secret})):
            answer = await browser.post(path, json=body)
            assert (answer.status_code, "HEADGATE_PASSKEYS" in answer.text) == (403, True)
        for path, form in (("/auth/passkey", {}), ("/auth/invitation", {"invitation": secret, "name": "Ben"})):
            answer = await browser.post(path, data={"response": device.get(options), **form})
            assert (answer.status_code, answer.cookies) == (403, httpx.Cookies())
        link = await browser.get("/auth/login", params={"invitation": secret})
        assert (link.status_code, "HEADGATE_PASSKEYS is off" in link.text) == (403, True)
    async with off.as_admin(organization.org_id) as admin:
        invited = await admin.post("/admin/invitations", json={"email": "x@example.com", "roles": ["viewer"]})
        assert (invited.status_code, "HEADGATE_PASSKEYS" in invited.text) == (409, True)
        assert (await admin.get("/v1/passkeys")).status_code == 403
        account = (await admin.get("/account")).text
        assert "data-passkey" not in account


async def test_an_address_of_loopback_does_not_tell_the_name_of_the_dashboard(start_api, organization) -> None:
    """Whoever knows it can lead the reviewer's browser there, at a port of their own, and is sent the session."""
    port = free_port()
    api = await start_api(port=port, public_url=f"http://127.0.0.1:{port}")
    async with api.as_admin(organization.org_id) as admin:
        made = await admin.post("/admin/invitations", json={"email": "ben@example.com", "roles": ["approver"]})
    address, _, secret = made.json()["address"].partition("/auth/login?invitation=")
    assert re.fullmatch(rf"http://headgate-[0-9a-f]{{16}}[.]localhost:{port}", address)
    name = address.removeprefix("http://").partition(".")[0]
    async with httpx.AsyncClient(verify=public_roots(), base_url=api.url, trust_env=False, headers=_OWN) as stranger:
        answers = [
            await stranger.get("/auth/login"),
            await stranger.post(_OPTIONS),
            await stranger.get("/auth/login", params={"invitation": secret}),
            await stranger.get("/inbox"),
        ]
    assert [answer.status_code for answer in answers] == [200, 403, 403, 303]
    assert [name in answer.text + str(answer.headers) for answer in answers] == [False] * 4
    async with httpx.AsyncClient(
        verify=public_roots(), base_url=api.url, trust_env=False, headers=_OWN | {"host": f"{name}.localhost:{port}"}
    ) as one:
        assert (await one.post(_OPTIONS)).json()["public_key"]["rpId"] == f"{name}.localhost"
