"""Signing in and out in a browser: a new cookie each time, and never a way to another site."""

from contextlib import closing

import pytest
from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.world import World
from tests.e2e.instance import Instance

_PLANTED = "x" * 43


def test_a_planted_session_is_not_the_one_that_is_opened(open_window: OpenWindow, world: World) -> None:
    window = open_window(None)
    window.context.add_cookies([{"name": "headgate_session", "value": _PLANTED, "url": window.address}])
    window.page.goto(world.sign_in_link("eve@example.com", Role.VIEWER))
    window.page.get_by_role("button", name="Sign in").click()
    window.page.wait_for_url(f"{window.address}/**")
    (cookie,) = [one for one in window.context.cookies() if one["name"] == "headgate_session"]
    assert cookie["value"] != _PLANTED
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    with closing(open_window(None).context) as other:
        other.add_cookies([{"name": "headgate_session", "value": _PLANTED, "url": window.address}])
        other.pages[0].goto(f"{window.address}/inbox")
        assert "/auth/login" in other.pages[0].url


def test_signing_out_ends_the_session(open_window: OpenWindow, world: World) -> None:
    window = open_window(None)
    window.page.goto(world.sign_in_link("mallory@example.com", Role.VIEWER))
    window.page.get_by_role("button", name="Sign in").click()
    window.open("/inbox")
    (kept,) = [one["value"] for one in window.context.cookies() if one["name"] == "headgate_session"]
    window.page.locator("summary.me").click()
    window.page.get_by_role("button", name="Sign out").click()
    expect(window.page.get_by_role("heading", name="You are signed out")).to_be_visible()
    window.context.add_cookies([{"name": "headgate_session", "value": kept, "url": window.address}])
    window.open("/inbox")
    assert "/auth/login" in window.page.url


_ELSEWHERE = (
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "/\t/evil.example/",
    "javascript:alert(1)",
)


@pytest.mark.parametrize("return_to", _ELSEWHERE)
def test_no_address_leads_elsewhere(open_window: OpenWindow, instance: Instance, return_to: str) -> None:
    window = open_window(None)
    window.page.goto(f"{window.address}/auth/login")
    shown = window.page.evaluate(
        "async (to) => (await fetch('/auth/login?' + new URLSearchParams({return_to: to}))).text()", return_to
    )
    assert "evil" not in shown
    assert "javascript:" not in shown
