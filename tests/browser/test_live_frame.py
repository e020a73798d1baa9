"""The count of open requests in the title, the icon and the navigation, and stops: on every page, in every tab."""

import re
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import Window
from tests.browser.world import World
from tests.e2e.clients import Administrator

_STREAM = "/v1/approvals/events"


def _shows(page: Page, count: int, title: str) -> None:
    """On a page that nobody has touched since."""
    expect(page).to_have_title(f"({count}) {title} · Headgate" if count else f"{title} · Headgate")
    expect(page.locator("#waiting")).to_have_text(str(count or ""))
    expect(page.locator("#waiting-words")).to_have_text(f", {count} waiting" if count else "")
    name = "quiet" if not count else f"waiting-{count if count <= 9 else 'many'}"
    expect(page.locator("link[rel=icon]")).to_have_attribute(
        "href", re.compile(rf"/static/{name}\.[0-9a-f]{{12}}\.svg")
    )


def _shown(page: Page, before: int) -> int:
    """How many of the requests that are open wait for who looks at this page: not those of a group of others."""
    expect(page.locator("#waiting-words")).to_be_attached()
    shown = int(page.locator("#waiting").text_content() or 0)
    assert shown <= before
    return shown


@pytest.mark.parametrize(
    ("role", "path", "title"),
    [
        (Role.APPROVER, "/policies", "Policies"),
        (Role.AUDITOR, "/audit", "Audit"),
        (Role.VIEWER, "/overview", "Overview"),
        (Role.ADMIN, "/agents", "Agents"),
        (Role.ADMIN, "/settings/members", "Members"),
    ],
)
def test_each_page_counts_what_is_open(
    open_window: OpenWindow, world: World, administrator: Administrator, before: int, role: Role, path: str, title: str
) -> None:
    page = open_window(role).open(path)
    waiting = _shown(page, before)
    _shows(page, waiting, title)
    page.evaluate("window.untouched = true")
    first, second = world.held({"repo": "acme/one"}), world.held({"repo": "acme/two"})
    _shows(page, waiting + 2, title)
    administrator.deny(first, "not this one")
    _shows(page, waiting + 1, title)
    administrator.approve(second)
    _shows(page, waiting, title)
    assert page.evaluate("window.untouched")


def test_more_than_nine(open_window: OpenWindow, world: World, before: int) -> None:
    page = open_window(Role.APPROVER).open("/account")
    waiting = _shown(page, before)
    for number in range(10):
        world.held({"repo": f"acme/number-{number}"})
    _shows(page, waiting + 10, "Your account")


def test_one_tab_holds_the_stream_for_all(open_window: OpenWindow, world: World, before: int) -> None:
    window: Window = open_window(Role.APPROVER)
    opened: list[Page] = []
    window.context.on("request", lambda one: _STREAM in one.url and opened.append(one.frame.page))
    first = window.open("/policies")
    waiting = _shown(first, before)
    second, inbox = window.context.new_page(), window.context.new_page()
    second.goto(f"{window.address}/overview")
    inbox.goto(f"{window.address}/inbox")
    expect(inbox.locator("[data-live-state]")).to_be_visible()
    approval_id = world.held({"repo": "acme/all-tabs"})
    for page, title in ((first, "Policies"), (second, "Overview"), (inbox, "Inbox")):
        _shows(page, waiting + 1, title)
    expect(inbox.locator(f'[data-row="{approval_id}"]')).to_be_visible()
    assert opened == [first]
    with closing(first):
        pass  # another tab takes the stream over
    world.held({"repo": "acme/the-next-tab"})
    _shows(second, waiting + 2, "Overview")
    _shows(inbox, waiting + 2, "Inbox")
    assert len(opened) == 2


def test_a_stop_reaches_a_page_that_stays_open(
    open_window: OpenWindow, world: World, administrator: Administrator, before: int
) -> None:
    page = open_window(Role.APPROVER).open("/policies")
    expect(page.locator("#stop-state")).to_have_text("Running")
    stop = {"scope": "tool", "target": "stripe", "reason": "it pays twice"}
    administrator.api.put("/admin/settings/kill-switch", json=stop)
    try:
        world.held({"repo": "acme/after-the-stop"})
        expect(page.locator("#stop-state")).to_have_text("Stopped: stripe")
        expect(page.locator("#notices")).to_contain_text("The tool stripe is stopped: it pays twice")
    finally:
        administrator.api.put("/admin/settings/kill-switch", json=stop | {"stopped": False, "reason": "fixed"})
