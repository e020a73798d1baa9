"""The main flows by keyboard alone, beside the inbox's and the activity's own: sign in, and stop."""

from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.world import World
from tests.e2e.clients import Administrator

_NAME = """() => document.activeElement.getAttribute("aria-label")
  || document.activeElement.labels?.[0]?.textContent.trim() || document.activeElement.textContent.trim()"""


def _tab_to(page: Page, name: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(_NAME).startswith(name):
            return
    raise AssertionError(f"Tab does not reach {name!r}")


def test_sign_in_by_link(open_window: OpenWindow, world: World) -> None:
    link = urlsplit(world.sign_in_link("keys@example.com", "viewer"))
    page = open_window(None).open(link.path)
    _tab_to(page, "Sign in")
    page.keyboard.press("Enter")
    page.wait_for_url("**/inbox")


def test_stop_and_resume(open_window: OpenWindow, administrator: Administrator) -> None:
    administrator.new_agent("typed to a stop")
    page = open_window().open("/overview")
    _tab_to(page, "Stop…")
    page.keyboard.press("Enter")
    page.wait_for_url("**/stop")
    _tab_to(page, "Agent, by name or id")
    page.keyboard.type("typed to a stop")
    _tab_to(page, "Reason")
    page.keyboard.type("it loops")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("it loops")
    _tab_to(page, "Reason to resume")
    page.keyboard.type("mended")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("No agent and no tool is stopped")
