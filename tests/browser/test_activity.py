"""Calls as they come: rows arrive by themselves, wait while somebody points at the list, and pause."""

from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.world import World

_ROWS = "#calls [data-row]"


def test_calls_arrive_and_change_by_themselves(open_window: OpenWindow, world: World) -> None:
    page = open_window(Role.APPROVER).open("/activity")
    expect(page.locator("[data-live-state]")).to_be_visible()
    called = world.submit("merge_pull_request", {"repo": "acme/arrives"})
    row = page.locator(f'[data-row="{called["id"]}"]')
    expect(row).to_contain_text("Held")
    page.locator("h1").hover()
    other = open_window(Role.APPROVER).open(f"/inbox/{called['approval_id']}")
    other.get_by_role("button", name="Approve", exact=True).click()
    expect(row).to_contain_text("Approved")


def test_nothing_moves_under_the_pointer(open_window: OpenWindow, world: World) -> None:
    page = open_window().open("/activity")
    expect(page.locator("[data-live-state]")).to_be_visible()
    page.locator(_ROWS).first.hover()
    first = page.locator(_ROWS).first.get_attribute("data-row")
    called = world.submit("merge_pull_request", {"repo": "acme/waits"})
    show = page.get_by_role("button", name="Show 1 new")
    show.wait_for()
    assert page.locator(_ROWS).first.get_attribute("data-row") == first
    show.click()
    expect(page.locator(_ROWS).first).to_have_attribute("data-row", called["id"])


def test_a_pause_counts_what_is_new_and_is_remembered(open_window: OpenWindow, world: World) -> None:
    page = open_window().open("/activity")
    expect(page.locator("[data-live-state]")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.locator("[data-live-state]")).to_have_text("Paused")
    called = world.submit("merge_pull_request", {"repo": "acme/paused"})
    expect(page.get_by_role("button", name="Resume, 1 new")).to_be_visible()
    expect(page.locator(f'[data-row="{called["id"]}"]')).to_have_count(0)
    page.get_by_role("button", name="Resume, 1 new").click()
    expect(page.locator(f'[data-row="{called["id"]}"]')).to_be_visible()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()


def test_without_script_there_is_no_button_that_does_nothing(open_window: OpenWindow) -> None:
    page = open_window(script=False).open("/activity")
    expect(page.locator("[data-pause]")).to_be_hidden()
    expect(page.locator(_ROWS).first).to_be_visible()
