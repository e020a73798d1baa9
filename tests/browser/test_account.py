"""One's own account in a browser: a second factor set up and used, without script too, and sessions ended."""

import pytest
from playwright.sync_api import Page, expect

from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.mfa.totp import code_at, step_of
from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import DESKTOP, PHONE_DARK, Look, Window
from tests.browser.world import World
from tests.e2e.clients import Administrator


def _sign_in(window: Window, world: World, user: str) -> Page:
    window.page.goto(world.sign_in_link(user, Role.APPROVER))
    window.page.get_by_role("button", name="Sign in").click()
    window.page.wait_for_url(f"{window.address}/inbox")
    return window.open("/account")


def _enter(page: Page, secret: str, button: str, *, later: int = 0) -> None:
    page.get_by_label("Six digits from the app").fill(code_at(Secret(secret), step_of(system_clock()) + later))
    page.get_by_role("button", name=button).click()


def _is_well(window: Window, *, script: bool) -> None:
    assert window.overflow_pixels() == 0
    if script:
        assert window.accessibility_violations() == []


@pytest.mark.parametrize(("look", "script"), [(DESKTOP, True), (PHONE_DARK, True), (DESKTOP, False)])
def test_a_second_factor_from_the_picture_to_its_removal(
    open_window: OpenWindow, world: World, look: Look, *, script: bool
) -> None:
    user = f"frank-{look}-{script}@example.com".lower()
    window = open_window(None, look, script=script)
    page = _sign_in(window, world, user)
    page.get_by_role("button", name="Set up an authenticator app").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    _is_well(window, script=script)
    secret = page.locator(".secret").inner_text().strip()
    _enter(page, secret, "Confirm")
    expect(page.locator("#second-factor")).to_contain_text("used both factors")
    page.get_by_role("button", name="Create new recovery codes").click()
    expect(page.locator(".codes code")).to_have_count(10)
    _is_well(window, script=script)

    later = open_window(None, look, script=script)
    page = _sign_in(later, world, user)
    expect(page.locator("#second-factor")).to_contain_text("used one factor")
    _is_well(later, script=script)
    _enter(page, secret, "Confirm second factor", later=1)
    page.get_by_text("Remove…").click()
    page.get_by_role("button", name="Remove the second factor").click()
    expect(page.get_by_role("button", name="Set up an authenticator app")).to_be_visible()


def test_an_administrator_resets_the_factor_of_another_person(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    own = open_window(None)
    page = _sign_in(own, world, "lost@example.com")
    page.get_by_role("button", name="Set up an authenticator app").click()
    _enter(page, page.locator(".secret").inner_text().strip(), "Confirm")
    expect(page.locator("#second-factor")).to_contain_text("used both factors")
    people = administrator.get("/admin/users", limit=200)["data"]
    user = next(one for one in people if one["email"] == "lost@example.com")
    window = open_window(look=PHONE_DARK, script=False)
    shown = window.open(f"/settings/members/{user['id']}")
    shown.locator("summary", has_text="Reset second factors").click()
    assert window.overflow_pixels() == 0
    shown.get_by_role("button", name="Reset second factors of lost@example.com").click()
    expect(shown.locator("main")).to_contain_text("Not set up")
    page.goto(page.url)
    assert "/auth/login" in page.url
    expect(_sign_in(open_window(None), world, "lost@example.com").locator("main")).to_contain_text("not set up")


def test_another_session_is_ended_from_here(open_window: OpenWindow, world: World) -> None:
    there, here = open_window(None), open_window(None)
    _sign_in(there, world, "gina@example.com")
    page = _sign_in(here, world, "gina@example.com")
    page.get_by_role("button", name="End all other sessions").click()
    expect(page.get_by_role("button", name="End all other sessions")).to_have_count(0)
    there.page.goto(f"{there.address}/account")
    assert "/auth/login" in there.page.url
