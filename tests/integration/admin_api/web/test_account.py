"""/account: what a person sees of themselves, their sessions, and the second factor by its forms, with a browser."""

import html
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from headgate.kernel.clock import system_clock
from headgate.kernel.public_roots import public_roots
from headgate.kernel.secrets import Secret
from headgate.mfa.totp import code_at, step_of
from headgate.organizations.local_issuer import open_local_issuer
from headgate.organizations.model import Role
from headgate.organizations.sign_in_address import sign_in_address
from tests.free_port import free_port

_OWN = {"Sec-Fetch-Site": "same-origin", "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0 <b>\u202ehi"}


@pytest.fixture
async def api(start_api):
    port = free_port()
    return await start_api(port=port, public_url=f"http://127.0.0.1:{port}")


@pytest.fixture
async def signed_in(api, organization) -> AsyncIterator[object]:
    """Makes browsers in which the same person has just signed in."""
    open_ones: list[httpx.AsyncClient] = []

    async def make() -> httpx.AsyncClient:
        headers = {name: value.encode() for name, value in _OWN.items()}
        browser = httpx.AsyncClient(
            verify=public_roots(), base_url=api.url, headers=headers, trust_env=False, timeout=60
        )
        open_ones.append(browser)
        link = sign_in_address(
            open_local_issuer(api.settings.data.issuer), api.url, org_id=organization.org_id, user="ana@example.com",
            roles=[Role.APPROVER], now=system_clock(), lifetime=timedelta(minutes=5),
        ).reveal()  # fmt: skip
        assert (await browser.post(link)).status_code == 303
        return browser

    yield make
    for one in open_ones:
        await one.aclose()


async def _page(browser: httpx.AsyncClient) -> str:
    answer = await browser.get("/account")
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


async def _factor(browser: httpx.AsyncClient, action: str, code: str = "") -> httpx.Response:
    return await browser.post("/account/second-factor", data={"action": action, "code": code})


def _code(secret: str, around: int = 0) -> str:
    return code_at(Secret(secret), step_of(system_clock()) + around)


async def _enrolled(browser: httpx.AsyncClient) -> str:
    begun = await _factor(browser, "enrol")
    found = re.search(r'secret">([A-Z2-7]{32})<', begun.text)
    assert found is not None
    assert "<svg" in begun.text
    assert found[1] not in await _page(browser)  # in one answer only
    assert (await _factor(browser, "activate", _code(found[1]))).headers["location"] == "/account"
    return found[1]


async def test_who_one_is_and_the_sessions_of_one_and_no_other_person(signed_in, api, new_organization) -> None:
    here, there = await signed_in(), await signed_in()
    shown = await _page(here)
    assert "ana@example.com" in shown
    assert "<dd>approver</dd>" in shown
    assert shown.count("Firefox 140, Linux") == 3  # two cells, and the label of the button that ends it
    assert "\u202e" not in shown
    (other,) = re.findall(r'name="session" value="(ses_[^"]+)"', shown)
    token = api.token(new_organization().org_id, Role.ADMIN)
    async with httpx.AsyncClient(
        verify=public_roots(), base_url=api.url, headers={"Authorization": f"Bearer {token}"}
    ) as stranger:
        assert (await stranger.post("/account/sessions", data={"session": other})).status_code == 404
    assert (await here.post("/account/sessions", data={"session": other})).status_code == 303
    assert (await there.get("/account")).headers["location"] == "/auth/login?return_to=%2Faccount"
    await signed_in()
    assert (await here.post("/account/sessions", data={"session": "others"})).status_code == 303
    assert "ses_" not in re.sub(r"data-copy=\S+", "", await _page(here))


async def test_a_second_factor_from_enrolment_to_removal(signed_in) -> None:
    first = await signed_in()
    before = first.cookies["headgate_session"]
    secret = await _enrolled(first)
    assert first.cookies["headgate_session"] != before, "the old cookie would prove a second factor"
    assert "used both factors" in await _page(first)
    codes = await _factor(first, "codes")
    assert len(re.findall(r"<code>[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}</code>", codes.text)) == 10
    assert "10 of 10 recovery codes" in await _page(first)
    second = await signed_in()
    assert "used one factor" in await _page(second)
    assert (await _factor(second, "remove")).status_code == 403
    assert (await _factor(second, "step-up", _code(secret, 1))).status_code == 303
    assert (await second.get("/auth/session")).json()["aal"] == "aal2"
    assert (await _factor(second, "remove")).status_code == 303
    assert "Set up an authenticator app" in await _page(second)


async def test_a_cookie_of_before_the_second_factor_is_nobody(signed_in, api) -> None:
    browser = await signed_in()
    before = browser.cookies["headgate_session"]
    await _enrolled(browser)
    async with httpx.AsyncClient(
        verify=public_roots(), base_url=api.url, cookies={"headgate_session": before}
    ) as thief:
        assert (await thief.get("/auth/session")).status_code == 401


async def test_a_recovery_code_removes_the_app(signed_in) -> None:
    browser = await signed_in()
    await _enrolled(browser)
    code = re.search(r"<code>(.*?)</code>", (await _factor(browser, "codes")).text)
    assert code is not None
    later = await signed_in()
    assert (await _factor(later, "recover", code[1].lower())).status_code == 303
    assert "not set up" in await _page(later)


@pytest.mark.parametrize(
    ("action", "code", "status", "words"),
    [
        ("activate", "000000", 409, "No enrolment"),
        ("step-up", "000000", 409, "No second factor"),
        ("step-up", "x", 400, "code"),
        ("codes", "", 403, "aal2"),
        ("recover", "0000-0000-0000", 400, "code"),
        ("<script>", "", 400, "Use a form button"),
    ],
)
async def test_a_refused_form_says_why_where_it_happened(signed_in, action, code, status, words) -> None:
    answer = await _factor(await signed_in(), action, code)
    assert answer.status_code == status, answer.text
    assert re.search(rf'role="alert">.*{words}.*</p>', html.unescape(answer.text))


async def test_another_site_sends_no_form(signed_in) -> None:
    browser = await signed_in()
    for path in ("/account/sessions", "/account/second-factor"):
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            assert (await browser.post(path, data={"action": "enrol"}, headers=headers)).status_code == 403
