"""Break-glass in a browser: opened from a denied call, seen on other pages, ended by a second person's review."""

import pytest
from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import DESKTOP, PHONE, Look
from tests.browser.world import World


@pytest.mark.parametrize("look", [DESKTOP, PHONE], ids=str)
def test_from_the_denied_call_to_the_review(open_window: OpenWindow, world: World, look: Look) -> None:
    params = {"owner": "acme", "repo": f"site-{look}"}
    denied = world.submit("delete_repo", params)
    assert denied["status"] == "denied"
    page = open_window(Role.BREAK_GLASS, look).open(f"/calls/{denied['id']}")
    page.get_by_role("link", name="Let the identical call through once").click()
    expect(page.get_by_role("textbox", name="Denied call")).to_have_value(denied["id"])
    page.get_by_role("textbox", name="Reason").fill("the rollback of INC-7 is denied by the freeze")
    page.get_by_role("button", name="Open break-glass").click()
    expect(page.locator("main")).to_contain_text("A second person must review this use")

    window = open_window(Role.ADMIN, look)
    page = window.open("/inbox")
    main, split = page.locator("#main").bounding_box(), page.locator(".split").bounding_box()
    if main and split and not look.is_phone:  # the pages that fill the window end with it, below the banner
        assert split["y"] + split["height"] == pytest.approx(main["y"] + main["height"], abs=1)
    page = window.open("/agents")
    expect(page.locator(".glass-open")).to_contain_text("the rollback of INC-7")
    assert window.accessibility_violations() == []
    assert window.overflow_pixels() <= 0
    page.locator(".glass-open a").click()
    page.locator("summary", has_text="Review and end").click()
    assert window.accessibility_violations() == []
    assert window.overflow_pixels() <= 0
    page.get_by_role("textbox", name="Note").fill("INC-7")
    page.get_by_role("button", name="Review and end").click()
    expect(page.locator("main")).to_contain_text("“INC-7”")
    expect(page.locator(".glass-open")).to_have_count(0)
    assert world.submit("delete_repo", params)["status"] == "denied"


def test_the_stop_page_links_to_it_and_it_says_who_may(open_window: OpenWindow) -> None:
    page = open_window(Role.ADMIN, script=False).open("/stop")
    page.get_by_role("link", name="Break-glass").click()
    expect(page.locator("main")).to_contain_text("--role break_glass")
