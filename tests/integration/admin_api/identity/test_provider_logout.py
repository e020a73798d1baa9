"""Signing out at a real provider as well, and sessions that end here because the provider says so."""

import html
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import jwt
import pytest
from jwt.algorithms import RSAAlgorithm

from admin_api.process_settings import LoginClient
from admin_api.provider_metadata import ProviderMetadata
from admin_api.services.browser_login import LoginProvider
from headgate.kernel.public_roots import public_roots
from headgate.kernel.secrets import Secret
from tests.free_port import free_port
from tests.integration.admin_api.identity.conftest import COOKIE, House
from tests.integration.admin_api.identity.provider import SECRET, browser_client, sign_in_at

OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
EVENT = "http://schemas.openid.net/event/backchannel-logout"


def at_provider() -> httpx.AsyncClient:
    return httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False)


async def signed_in_at_both(house: House, browser: httpx.AsyncClient, person_at_provider: httpx.AsyncClient) -> None:
    begun = await browser.get("/auth/login")
    back = await sign_in_at(person_at_provider, begun.headers["location"], "carol")
    assert (await browser.get(back.headers["location"])).status_code == 303


def address_in(page: str) -> str:
    refresh = html.unescape(page.partition('content="0; url=')[2].partition('"')[0])
    assert refresh in html.unescape(page).partition('<a href="')[2], "the link is for browsers that do not go on"
    return refresh


async def sign_out_at(person_at_provider: httpx.AsyncClient, address: str) -> str:
    """What a person does there: yes. Answers the address that the browser is sent back to."""
    asked = await person_at_provider.get(address)
    assert asked.status_code == 200, asked.text
    action, secret = (
        asked.text.partition(f'{name}="')[2].partition('"')[0] for name in ("action", 'name="xsrf" value')
    )
    answer = await person_at_provider.post(urljoin(str(asked.url), action), data={"xsrf": secret, "logout": "yes"})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def test_who_signs_out_here_signs_out_at_the_provider(house: House) -> None:
    async with house.browser() as browser, at_provider() as provider:
        await signed_in_at_both(house, browser, provider)
        kept = browser.cookies[COOKIE]
        left = await browser.post("/auth/logout", headers=OWN_PAGE)
        assert left.status_code == 200
        assert COOKIE not in browser.cookies
        # The session here is over, whether or not the browser goes on.
        stale = await browser.get("/admin/agents", headers={"Cookie": f"{COOKIE}={kept}"})
        assert stale.status_code == 401

        address = address_in(left.text)
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        hint = jwt.decode(asked.pop("id_token_hint"), options={"verify_signature": False})
        assert (hint["iss"], hint["sub"], hint["aud"]) == (house.provider.issuer, "carol", "web")
        state = asked.pop("state")
        assert asked == {"client_id": "web", "post_logout_redirect_uri": f"{house.api.url}/auth/signed-out"}

        back = await sign_out_at(provider, address)
        assert back == f"{house.api.url}/auth/signed-out?state={state}"
        async with house.browser() as other:
            assert "You are signed out" not in (await other.get(back)).text
        assert "You are signed out" in (await browser.get(back)).text
        assert "You are signed out" not in (await browser.get(back)).text  # once
        # The provider asks who they are again.
        begun = await browser.get("/auth/login")
        answer = await provider.get(begun.headers["location"])
        while answer.is_redirect:
            answer = await provider.get(urljoin(str(answer.url), answer.headers["location"]))
        assert 'name="login"' in answer.text


async def test_the_database_keeps_no_token_that_it_could_read(house: House) -> None:
    async with house.browser() as browser:
        await house.signed_in(browser)
        ((hint,),) = house.superuser.execute(
            "SELECT logout_hint FROM sessions WHERE org_id = %s", [house.org_id]
        ).fetchall()
        left = await browser.post("/auth/logout", headers=OWN_PAGE)
    (token,) = parse_qs(urlsplit(address_in(left.text)).query)["id_token_hint"]
    assert len(hint) > len(token)
    assert not any(part.encode() in hint for part in token.split("."))


async def test_a_provider_that_offers_no_logout_or_is_not_asked(new_house) -> None:
    house = await new_house(LoginClient("web", Secret(SECRET), end_session=False))
    async with house.browser() as browser:
        await house.signed_in(browser)
        left = await browser.post("/auth/logout", headers=OWN_PAGE)
        assert (left.status_code, left.headers["location"]) == (303, "/auth/login?signed_out=1")

        await house.signed_in(browser)
        login = house.api.dependencies.browser_login
        own = login.providers[house.provider.issuer]

        class Says:
            async def metadata(self) -> ProviderMetadata:
                return ProviderMetadata(own.issuer, f"{own.issuer}/jwks")

        login.providers = {own.issuer: LoginProvider(own.issuer, LoginClient("web"), Says())}
        left = await browser.post("/auth/logout", headers=OWN_PAGE)
        assert (left.status_code, left.headers["location"]) == (303, "/auth/login?signed_out=1")


async def test_a_session_that_ends_at_the_provider_ends_here(new_house, login_provider) -> None:
    """The provider's own logout, begun there; other people's sessions go on."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    told = {"backchannel_logout_uri": f"{address}/auth/backchannel-logout", "backchannel_logout_session_required": True}
    client = browser_client(
        f"told-{port}", f"{address}/auth/callback", post_logout_redirect_uris=[f"{address}/auth/signed-out"],
        application_type="native", **told,
    )  # fmt: skip
    login_provider.stop()
    login_provider.clients.append(client)
    login_provider.start()
    house = await new_house(LoginClient(client["client_id"], Secret(SECRET)), port=port)
    async with house.browser() as browser, house.browser() as elsewhere, at_provider() as provider:
        await signed_in_at_both(house, browser, provider)
        await house.signed_in(elsewhere)  # the same person, out of another session there
        assert (await browser.get("/auth/session")).status_code == 200
        await sign_out_at(provider, f"{login_provider.issuer}/session/end")
        assert (await browser.get("/auth/session")).status_code == 401
        assert (await elsewhere.get("/auth/session")).status_code == 200
    ((_, ended),) = house.events("session.ended")
    assert ended["reason"] == "provider"


def logout_token(house: House, **changes: Any) -> str:
    """As the provider would make one; None takes a claim away."""
    (jwk,) = [one for one in house.provider.keys if one["alg"] == "RS256"]
    now = datetime.now(UTC)
    claims = {
        "iss": house.provider.issuer,
        "aud": "web",
        "sub": "carol",
        "iat": int(now.timestamp()),
        "exp": int((now + timedelta(minutes=2)).timestamp()),
        "jti": "one",
        "events": {EVENT: {}},
    } | changes
    claims = {name: value for name, value in claims.items() if value is not None}
    key = RSAAlgorithm.from_jwk(json.dumps(jwk))
    return jwt.encode(claims, key, "RS256", headers={"kid": jwk["kid"], "typ": "logout+jwt"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "another"},
        {"iss": "https://another.example"},
        {"events": None},
        {"events": {"http://schemas.openid.net/event/another": {}}},
        {"nonce": "x"},
        {"sub": None},
        {"exp": 1},
        {"exp": None},
        {"iat": 1},
        {"iat": None},
    ],
    ids=str,
)
async def test_a_logout_token_that_is_none_ends_nothing(house: House, changes: dict[str, Any]) -> None:
    async with house.browser() as browser:
        await house.signed_in(browser)
        refused = await browser.post("/auth/backchannel-logout", data={"logout_token": logout_token(house, **changes)})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR"), refused.text
        assert (await browser.get("/auth/session")).status_code == 200


async def test_a_logout_token_for_a_person_ends_their_sessions_and_is_no_credential(new_house) -> None:
    house = await new_house()
    async with house.browser() as browser, house.browser() as dave:
        await house.signed_in(browser)
        await house.signed_in(dave, "dave")
        token = logout_token(house)
        forged = token[:-8] + "AAAAAAAA"
        for body in ({"logout_token": forged}, {"logout_token": [token, token]}, {}):
            assert (await browser.post("/auth/backchannel-logout", data=body)).status_code == 400
        assert (await browser.get("/auth/session")).status_code == 200

        as_credential = logout_token(house, aud="headgate", org_id=house.org_id, roles=["admin"])
        answer = await browser.get("/admin/agents", headers={"Authorization": f"Bearer {as_credential}"})
        assert answer.status_code == 401

        assert (await browser.post("/auth/backchannel-logout", data={"logout_token": token})).status_code == 200
        assert (await browser.get("/auth/session")).status_code == 401
        assert (await dave.get("/auth/session")).status_code == 200
