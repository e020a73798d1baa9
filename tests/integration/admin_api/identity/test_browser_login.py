"""Signing in at a real provider, with a browser that keeps cookies as one does; and every way in which it fails."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from admin_api.process_settings import LoginClient
from admin_api.provider_metadata import ProviderMetadata
from admin_api.services.browser_login import LoginProvider
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role
from headgate.sessions.model import SessionLimits
from tests.integration.admin_api.identity.conftest import COOKIE, House
from tests.integration.admin_api.identity.provider import SECRET


async def test_a_person_signs_in_works_and_signs_out(house: House) -> None:
    async with house.browser(user_agent="Browser/1 <b>") as browser:
        answer = await house.signed_in(browser, return_to="/admin/agents?limit=5")
        assert answer.headers["location"] == "/admin/agents?limit=5"
        cookies = answer.headers.get_list("set-cookie")
        (session,) = [one for one in cookies if one.startswith(COOKIE + "=")]
        for attribute in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=43200"):
            assert attribute in session
        assert (await browser.get("/admin/agents")).status_code == 200
        who = (await browser.get("/auth/session")).json()
        assert (who["email"], who["scopes"], who["organization_id"]) == ("carol@example.com", ["admin:*"], house.org_id)
        (listed,) = (await browser.get("/auth/sessions")).json()["data"]
        assert (listed["id"], listed["is_current"], listed["address"]) == (who["session_id"], True, "127.0.0.1")
        ((_, login),) = house.events("login.succeeded")
        assert (login["session_id"], login["address"], login["issuer"]) == (
            who["session_id"], "127.0.0.1", house.provider.issuer,
        )  # fmt: skip
        actors = house.superuser.execute(
            "SELECT payload::json -> 'actor' ->> 'address' FROM journal"
            " WHERE org_id = %s AND event_type = 'login.succeeded'",
            [house.org_id],
        ).fetchall()
        assert actors == [("127.0.0.1",)]

        kept = browser.cookies[COOKIE]
        left = await browser.post("/auth/logout", headers={"Sec-Fetch-Site": "same-origin"})
        assert (left.status_code, "You are signed out of Headgate" in left.text) == (200, True)
        assert COOKIE not in browser.cookies
        # What the browser forgot is no good to whoever kept it.
        stale = await browser.get("/admin/agents", headers={"Cookie": f"{COOKIE}={kept}"})
        assert stale.status_code == 401
        ((_, ended),) = house.events("session.ended")
        assert (ended["session_id"], ended["reason"]) == (who["session_id"], "logout")


async def test_a_public_client_and_another_algorithm(new_house) -> None:
    house = await new_house(LoginClient("public"))
    async with house.browser() as browser:
        await house.signed_in(browser, "dave")
        assert (await browser.get("/auth/session")).json()["scopes"] == [
            "actions:read", "approvals:read", "policies:read",
        ]  # fmt: skip
        assert (await browser.get("/admin/agents")).status_code == 403


async def test_a_provider_with_an_address_of_its_own(new_house) -> None:
    house = await new_house(LoginClient("own", Secret(SECRET), redirect_name="own"))
    async with house.browser() as browser:
        address = await house.sent_back(browser)
        assert urlsplit(address).path == "/auth/providers/own/callback"
        for path in ("/auth/callback", "/auth/providers/other/callback"):
            # Each answer spends its login.
            elsewhere = (await house.sent_back(browser)).replace("/auth/providers/own/callback", path)
            assert (await browser.get(elsewhere)).status_code == 401
        await house.signed_in(browser)
        assert (await browser.get("/auth/session")).json()["email"] == "carol@example.com"


async def test_of_several_providers_one_that_does_not_name_itself_needs_an_address_of_its_own(new_house) -> None:
    """Otherwise a code of the one could be taken to the other (RFC 9700, section 4.4)."""
    house = await new_house()
    login = house.api.dependencies.browser_login
    own = login.providers[house.provider.issuer]
    silent = ProviderMetadata(
        "https://silent.example", "https://silent.example/jwks", "https://silent.example/authorize",
        "https://silent.example/token",
    )  # fmt: skip

    class Says:
        async def metadata(self) -> ProviderMetadata:
            return silent

    def with_silent(client: LoginClient) -> None:
        login.providers = {own.issuer: own, silent.issuer: LoginProvider(silent.issuer, client, Says())}

    async with house.browser() as browser:
        with_silent(LoginClient("web"))
        refused = await browser.get("/auth/login", params={"issuer": silent.issuer})
        assert (refused.status_code, "redirect_name" in refused.text) == (503, True)
        await house.signed_in(browser, issuer=own.issuer)  # who names itself is not mixed up
        with_silent(LoginClient("web", redirect_name="silent"))
        begun = await browser.get("/auth/login", params={"issuer": silent.issuer})
        (redirect,) = parse_qs(urlsplit(begun.headers["location"]).query)["redirect_uri"]
        assert redirect == f"{house.api.url}/auth/providers/silent/callback"
        # Its answer at the address of all, or at another's, is none.
        (state,) = parse_qs(urlsplit(begun.headers["location"]).query)["state"]
        mixed = await browser.get("/auth/callback", params={"state": state, "code": "x", "iss": own.issuer})
        assert mixed.status_code == 401


async def test_a_callback_is_good_once_and_for_the_browser_that_began(house: House) -> None:
    async with house.browser() as browser, house.browser() as other:
        address = await house.sent_back(browser)
        assert (await other.get(address)).status_code == 401  # nobody signs another browser in
        assert (await browser.get(address)).status_code == 401  # and the state is spent by that

        address = await house.sent_back(browser)
        login = browser.cookies["headgate_login"]
        assert (await browser.get(address)).status_code == 303
        assert (
            await browser.get(address, headers={"Cookie": f"headgate_login={login}"})
        ).status_code == 401  # replayed
        assert len(house.events("login.succeeded")) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda q: q | {"state": "x"}, 401),
        (lambda q: {k: v for k, v in q.items() if k != "state"}, 401),
        (lambda q: q | {"iss": "https://evil.example"}, 401),
        (lambda q: {k: v for k, v in q.items() if k != "iss"}, 401),  # this provider says that it names itself
        (lambda q: q | {"code": "x"}, 401),
        (lambda q: {k: v for k, v in q.items() if k != "code"}, 401),
        (lambda q: q | {"error": "access_denied", "error_description": "<script>"}, 403),
        (lambda q: q | {"state": [q["state"], "x"]}, 401),
    ],
)
async def test_an_answer_that_was_tampered_with(house: House, change: Any, status: int) -> None:
    async with house.browser() as browser:
        address = urlsplit(await house.sent_back(browser))
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        answer = await browser.get("/auth/callback", params=change(query))
        assert (answer.status_code, "<script>" in answer.text) == (status, False), answer.text
        assert COOKIE not in browser.cookies
        assert house.events("login.succeeded") == []


async def test_a_code_without_its_verifier_is_worth_nothing(house: House) -> None:
    """A code that was overheard, shown with another login's state."""
    async with house.browser() as browser, house.browser() as thief:
        overheard = parse_qs(urlsplit(await house.sent_back(browser)).query)
        own = parse_qs(urlsplit(await house.sent_back(thief, "dave")).query)
        stolen = {name: values[0] for name, values in own.items()} | {"code": overheard["code"][0]}
        assert (await thief.get("/auth/callback", params=stolen)).status_code == 401


async def test_a_session_is_new_at_each_login(house: House) -> None:
    """Session fixation: whatever the browser shows before is not what it has afterwards."""
    async with house.browser() as browser:
        browser.cookies.set(COOKIE, "chosen-by-somebody-else", domain="127.0.0.1")
        await house.signed_in(browser)
        first = browser.cookies[COOKIE]
        assert first != "chosen-by-somebody-else"
        await house.signed_in(browser)
        assert browser.cookies[COOKIE] != first
        assert (await browser.get("/auth/session", headers={"Cookie": f"{COOKIE}={first}"})).status_code == 401
        assert [data["reason"] for _, data in house.events("session.ended")] == ["replaced"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "OWN"}, 403),
        ({"Origin": "OWN"}, 201),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
    ],
)
async def test_another_sites_form_changes_nothing(house: House, headers: dict[str, str], status: int) -> None:
    async with house.browser() as browser:
        await house.signed_in(browser)
        sent = {name: house.api.url if value == "OWN" else value for name, value in headers.items()}
        answer = await browser.post("/admin/agents", json={"name": "x"}, headers=sent)
        assert answer.status_code == status, answer.text
        # Reading needs no such proof, and a credential in a header is sent by nobody's form.
        assert (await browser.get("/admin/agents", headers={"Sec-Fetch-Site": "cross-site"})).status_code == 200
        token = house.api.token(house.org_id, Role.ADMIN)
        explicit = await browser.post("/admin/agents", json={"name": "x"}, headers={"Authorization": f"Bearer {token}"})
        assert explicit.status_code == 201


async def test_two_cookies_of_one_name_are_nobodys(house: House) -> None:
    async with house.browser() as browser:
        await house.signed_in(browser)
        mine = browser.cookies[COOKIE]
        browser.cookies.clear()
        for text in (f"{COOKIE}={mine}; {COOKIE}=other", f"{COOKIE}=other; {COOKIE}={mine}"):
            assert (await browser.get("/auth/session", headers={"Cookie": text})).status_code == 401
        assert (await browser.get("/auth/session", headers={"Cookie": f"a=b; {COOKIE}={mine}"})).status_code == 200


async def test_sessions_are_seen_and_ended(house: House) -> None:
    page = {"Sec-Fetch-Site": "same-origin"}
    async with house.browser(**page) as one, house.browser(**page) as two, house.browser(**page) as daves:
        await house.signed_in(one)
        await house.signed_in(two)
        await house.signed_in(daves, "dave")
        dave = (await daves.get("/auth/session")).json()
        ids = [item["id"] for item in (await one.get("/auth/sessions")).json()["data"]]
        assert len(ids) == 2
        # Nobody's business but one's own, unless one is an administrator.
        assert (await daves.delete(f"/auth/sessions/{ids[0]}")).status_code == 404
        assert (await daves.get(f"/admin/users/{dave['user_id']}/sessions")).status_code == 403
        theirs = (await two.get("/auth/session")).json()["session_id"]
        assert (await one.delete("/auth/sessions")).json()["ended"] == [theirs]
        assert ((await two.get("/auth/session")).status_code, (await one.get("/auth/session")).status_code) == (
            401,
            200,
        )
        (listed,) = (await one.get(f"/admin/users/{dave['user_id']}/sessions")).json()["data"]
        ended = await one.delete(f"/admin/users/{dave['user_id']}/sessions/{listed['id']}")
        assert ended.json() == {"ended": [dave["session_id"]]}
        assert (await daves.get("/auth/session")).status_code == 401
        # Shut out: the session that is left ends with the person's rights, at once.
        await house.signed_in(daves, "dave")
        assert (await one.post(f"/admin/users/{dave['user_id']}/deactivate")).status_code == 200
        assert (await daves.get("/auth/session")).status_code == 401
        address = await house.sent_back(daves, "dave")
        assert (await daves.get(address)).status_code == 403
        ((_, failed),) = house.events("login.failed")
        assert (failed["subject"], failed["address"]) == ("dave", "127.0.0.1")


async def test_a_session_ends_by_the_clock(new_house) -> None:
    house = await new_house(session_limits=SessionLimits(timedelta(hours=1), timedelta(minutes=10)))
    async with house.browser() as browser:
        await house.signed_in(browser)
        for column, minutes, status in (("last_seen_at", 9, 200), ("last_seen_at", 11, 401), ("expires_at", 61, 401)):
            house.superuser.execute(
                f"UPDATE sessions SET {column} = {column} - make_interval(mins => %s) WHERE org_id = %s",  # noqa: S608 - names of this line
                [minutes, house.org_id],
            )
            assert (await browser.get("/auth/session")).status_code == status, column
            house.superuser.execute("UPDATE sessions SET last_seen_at = now() WHERE org_id = %s", [house.org_id])


async def test_whoever_belongs_elsewhere_is_not_let_in(house: House) -> None:
    async with house.browser() as browser:
        # This organization does not exist, and nobody makes one by signing in.
        assert (await browser.get(await house.sent_back(browser, "mallory"))).status_code == 403


async def test_the_provider_is_gone(house: House) -> None:
    async with house.browser() as browser:
        address = await house.sent_back(browser)
        house.provider.stop()
        answer = await browser.get(address)
        assert (answer.status_code, "cannot be reached" in answer.text) == (503, True)
        assert COOKIE not in browser.cookies


@pytest.mark.parametrize(
    "return_to", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nx: y", ""]
)
async def test_nobody_is_sent_to_another_site(house: House, return_to: str) -> None:
    async with house.browser() as browser:
        answer = await house.signed_in(browser, return_to=return_to)
        assert answer.headers["location"] == "/"


async def test_at_an_address_without_https_nobody_signs_in(new_house) -> None:
    house = await new_house(public_url="http://gate.example.com")
    async with house.browser() as browser:
        answer = await browser.get("/auth/login")
        assert (answer.status_code, "requires https" in answer.text) == (403, True)


async def test_cookies_at_an_https_address(new_house) -> None:
    house = await new_house(public_url="https://gate.example.com")
    async with house.browser() as browser:
        answer = await browser.get("/auth/login")
        (cookie,) = answer.headers.get_list("set-cookie")
        assert cookie.startswith("__Host-headgate_login=") and "; Secure" in cookie and "Domain" not in cookie
        sent = parse_qs(urlsplit(answer.headers["location"]).query)
        assert sent["redirect_uri"] == ["https://gate.example.com/auth/callback"]
        assert (sent["code_challenge_method"], len(sent["code_challenge"][0])) == (["S256"], 43)
