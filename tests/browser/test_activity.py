"""Calls as they come: rows arrive by themselves, wait while somebody points at the list, and pause."""

import pytest
from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import DESKTOP, PHONE, Look
from tests.browser.world import World
from tests.e2e.clients import Administrator

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


def test_filter_and_open_by_keyboard_alone(open_window: OpenWindow, world: World) -> None:
    older, newer = (
        world.submit("merge_pull_request", {"repo": "acme/k1"}),
        world.submit("delete_branch", {"repo": "k2"}),
    )
    page = open_window(Role.VIEWER).open("/activity")
    page.keyboard.press("f")
    page.keyboard.type("tool:github operation:merge_pull_request since:1h")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=tool*")
    expect(page.locator(_ROWS).first).to_have_attribute("data-row", older["id"])
    expect(page.locator(f'[data-row="{newer["id"]}"]')).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url(f"**call={older['id']}")
    expect(page.get_by_role("region", name="Call", exact=True)).to_contain_text("acme/k1")
    expect(page.locator(f'[data-row="{older["id"]}"]')).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Close the call")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()
    assert "call=" in page.url
    page.keyboard.press("Escape")
    page.wait_for_url(lambda address: "call=" not in address and "q=" in address)


def test_the_last_word_of_the_filter_is_completed(open_window: OpenWindow) -> None:
    page = open_window().open("/activity")
    page.keyboard.press("f")
    page.keyboard.type("tool:github dec")
    offered = page.eval_on_selector_all("#filters option", "all => all.map((one) => one.value)")
    assert offered == [f"tool:github decision:{one}".rstrip() for one in ("", "allow", "deny", "hold")]


def test_an_agent_without_a_listed_call_is_completed(open_window: OpenWindow, administrator: Administrator) -> None:
    administrator.new_agent("Night shift")
    page = open_window().open("/activity")
    with page.expect_response("**/admin/actions/values"):
        page.keyboard.press("f")
    page.keyboard.type("agent:ni")
    expect(page.locator("#filters option")).to_have_count(1)
    assert page.locator("#filters option").get_attribute("value") == 'agent:"Night shift"'


@pytest.mark.parametrize("look", [DESKTOP, PHONE], ids=str)
def test_a_call_is_beside_the_list_where_there_is_room(open_window: OpenWindow, world: World, look: Look) -> None:
    window = open_window(Role.ADMIN, look, script=False)
    page = window.open("/activity?call={hostile_action_id}".format_map(world.names))
    expect(page.get_by_role("region", name="Call", exact=True)).to_be_visible()
    expect(page.locator("#calls")).to_be_visible(visible=look is DESKTOP)
    page.get_by_role("link", name="Close").click()
    expect(page.locator("#calls")).to_be_visible()


@pytest.mark.parametrize("path", ["/agents", "/policies", "/audit"])
def test_every_list_goes_by_keyboard(open_window: OpenWindow, path: str) -> None:
    page = open_window().open(path)
    rows = page.locator("[data-list] [data-row]")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()
    page.keyboard.press("j")
    focused = page.evaluate("document.activeElement.closest('[data-row]').dataset.row")
    assert focused == rows.first.get_attribute("data-row")
    page.keyboard.press("o")
    page.wait_for_url(lambda address: address.rpartition(path)[2] not in ("", "/"))


def test_the_head_of_a_long_table_stays_and_covers_no_focus(open_window: OpenWindow) -> None:
    page = open_window(look=Look("low", 1440, 500, "light")).open("/audit")
    links = page.locator(".table tbody a")
    links.last.scroll_into_view_if_needed()
    bar, head = page.locator("header.bar").bounding_box(), page.locator(".table thead th").first.bounding_box()
    assert bar is not None and head is not None
    assert head["y"] == pytest.approx(bar["y"] + bar["height"], abs=1)
    links.nth(10).focus()
    focused = links.nth(10).bounding_box()
    assert focused is not None and focused["y"] >= head["y"] + head["height"]
