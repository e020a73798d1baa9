"""Each page in a browser: accessible, as wide as its window, nothing in the console, no foreign request."""

import pytest

from admin_api.access import ACCESS, Audience
from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.pages import PAGES, Page
from tests.browser.window import DESKTOP, DESKTOP_DARK, PHONE, PHONE_DARK, Look
from tests.browser.world import World


def _path(page: Page) -> str:
    return page.path


def _opener(page: Page) -> Role | None:
    return None if page.scope is None else next(role for role in Role if page.opens_for(role))


def test_every_page_is_in_the_table() -> None:
    shown = {
        path.rstrip("/")
        for method, path in ACCESS
        if method == "GET" and ACCESS[method, path].audience is Audience.PAGES
    }
    listed = {page.path.partition("?")[0].rstrip("/") for page in PAGES}
    patterns = {"/".join("{}" if part.startswith("{") else part for part in path.split("/")) for path in listed}
    assert shown <= patterns, f"add a line to PAGES: {sorted(shown - patterns)}"


@pytest.mark.parametrize("look", [DESKTOP, PHONE_DARK], ids=str)
@pytest.mark.parametrize("page", PAGES, ids=_path)
def test_it_is_accessible_and_fits(open_window: OpenWindow, world: World, page: Page, look: Look) -> None:
    window = open_window(_opener(page), look)
    window.open(page.path.format_map(world.names), status=page.status)
    assert window.accessibility_violations() == []
    assert window.overflow_pixels() <= 0


@pytest.mark.parametrize("look", [DESKTOP_DARK, PHONE], ids=str)
@pytest.mark.parametrize("page", PAGES, ids=_path)
def test_it_is_readable_without_script(open_window: OpenWindow, world: World, page: Page, look: Look) -> None:
    window = open_window(_opener(page), look, script=False)
    shown = window.open(page.path.format_map(world.names), status=page.status)
    assert shown.locator("main").inner_text().strip()
    assert window.overflow_pixels() <= 0
