"""Signing in without a provider: an address that this machine's key signed, once."""

from datetime import timedelta

import httpx
import pytest

from headgate.kernel.clock import system_clock
from headgate.kernel.public_roots import public_roots
from headgate.organizations.local_issuer import TICKET_AUDIENCE, open_local_issuer
from headgate.organizations.model import Role
from headgate.organizations.sign_in_address import sign_in_address
from tests.free_port import free_port

_OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
async def api(start_api):
    port = free_port()
    return await start_api(port=port, public_url=f"http://127.0.0.1:{port}")


def _address(api, org_id: str, lifetime: timedelta = timedelta(minutes=5)) -> str:
    return sign_in_address(
        open_local_issuer(api.settings.data.issuer), api.url, org_id=org_id, user="administrator", roles=[Role.ADMIN],
        now=system_clock(), lifetime=lifetime,
    ).reveal()  # fmt: skip


async def test_once_and_by_the_pages_button(api, organization) -> None:
    address = _address(api, organization.org_id)
    async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as browser:
        for _ in range(3):  # a preview spends nothing
            shown = await browser.get(address)
            assert (shown.status_code, "administrator" in shown.text) == (200, True)
        assert (await browser.post(address)).status_code == 403  # not from the page
        assert (await browser.post(address, headers=_OWN)).status_code == 303
        who = (await browser.get(f"{api.url}/auth/session")).json()
        assert (who["name"], who["scopes"], who["aal"]) == ("administrator", ["admin:*"], "aal1")
    async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as another:
        for refused in (await another.get(address), await another.post(address, headers=_OWN)):
            assert (refused.status_code, "already used" in refused.text) == (401, True)
            assert "headgate login" in refused.text


async def test_an_expired_link_says_so_and_what_to_do(api, organization) -> None:
    address = _address(api, organization.org_id, timedelta(minutes=-2))
    async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as browser:
        shown = await browser.get(address)
        assert (shown.status_code, "has expired" in shown.text, "headgate login" in shown.text) == (401, True, True)
        assert "<form" not in shown.text


async def test_what_signs_nobody_in(api, organization) -> None:
    async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False, headers=_OWN) as browser:
        token = api.token(organization.org_id, Role.ADMIN)
        for ticket in (
            token,  # a token is no ticket
            "x",
            _address(api, organization.org_id, timedelta(minutes=-2)).rpartition("/")[2],
            _address(api, organization.org_id).rpartition("/")[2] + "A",
        ):
            answer = await browser.post(f"{api.url}/auth/local/{ticket}")
            assert answer.status_code == 401, ticket
            if ticket == "x":
                assert "is incomplete, or another instance created it" in answer.text
        # And a ticket is no token.
        ticket = _address(api, organization.org_id).rpartition("/")[2]
        answer = await browser.get(f"{api.url}/admin/agents", headers={"Authorization": f"Bearer {ticket}"})
        assert answer.status_code == 401


async def test_where_there_is_no_provider_the_page_says_what_to_do(api) -> None:
    async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as browser:
        answer = await browser.get(f"{api.url}/auth/login")
        assert (answer.status_code, "headgate login" in answer.text) == (200, True)


async def test_a_persons_routes_take_no_key(api, organization) -> None:
    _, key = await api.key(organization.org_id)
    async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as client:
        for path in ("/auth/session", "/auth/sessions"):
            for headers in ({}, {"X-Agent-Key": key}, {"Authorization": f"Bearer {key}"}):
                assert (await client.get(api.url + path, headers=headers)).status_code == 401
            token = api.token(organization.org_id, Role.VIEWER)
            assert (await client.get(api.url + path, headers={"Authorization": f"Bearer {token}"})).status_code == 200


async def test_what_a_session_had_proved_of_a_second_factor_ends_with_it(api, organization) -> None:
    ticket = open_local_issuer(api.settings.data.issuer).mint(
        org_id=organization.org_id, subject="sam", roles=[Role.VIEWER], now=system_clock(),
        lifetime=timedelta(minutes=5), audience=TICKET_AUDIENCE, aal="aal2",
    )  # fmt: skip
    async with httpx.AsyncClient(verify=public_roots(), trust_env=False, base_url=api.url, headers=_OWN) as browser:
        assert (await browser.post(f"/auth/local/{ticket.reveal()}")).status_code == 303
        assert (await browser.post("/v1/mfa/recovery-codes/generate")).status_code == 200
        assert (await browser.delete("/v1/mfa/totp")).status_code == 200
        assert (await browser.get("/auth/session")).json()["aal"] == "aal1"
        assert (await browser.post("/v1/mfa/recovery-codes/generate")).status_code == 403
