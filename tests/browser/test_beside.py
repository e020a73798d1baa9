"""One item beside its list on wide screens and in its place on narrow ones; by key, and back and forward."""

from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import DESKTOP, PHONE, Look
from tests.browser.world import World
from tests.e2e.clients import Administrator


class _List(NamedTuple):
    """``rows``: the part that has them; ``item``: the name of the part that shows one."""

    path: str
    rows: str
    item: str


_LISTS = (
    _List("/activity", "#calls", "Call"),
    _List("/executions", "#executions", "Execution"),
    _List("/traffic", "#exchanges", "Exchange"),
)


def _by_path(one: object) -> str:
    return one.path if isinstance(one, _List) else str(one)


@pytest.mark.parametrize("look", [DESKTOP, PHONE], ids=str)
@pytest.mark.parametrize("one", _LISTS, ids=_by_path)
def test_an_item_is_beside_its_list_where_there_is_room(
    open_window: OpenWindow, world: World, one: _List, look: Look
) -> None:
    page = open_window(Role.ADMIN, look, script=False).open(one.path)
    page.locator(f"{one.rows} [data-row] a").first.click()
    expect(page.get_by_role("region", name=one.item, exact=True)).to_be_visible()
    expect(page.locator(one.rows)).to_be_visible(visible=look is DESKTOP)
    page.get_by_role("link", name="Close").click()
    expect(page.get_by_role("region", name=one.item, exact=True)).to_have_count(0)
    expect(page.locator(one.rows)).to_be_visible()


def _shown(page: Page) -> str | None:
    return page.locator("[data-list] [aria-current]").first.get_attribute("data-row")


@pytest.mark.parametrize("one", _LISTS, ids=_by_path)
def test_items_are_opened_closed_and_found_again_by_key(open_window: OpenWindow, world: World, one: _List) -> None:
    page = open_window().open(one.path)
    item = page.get_by_role("region", name=one.item, exact=True)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(item).to_be_visible()
    first = _shown(page)
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page.locator(f'[data-row="{first}"][aria-current]')).to_have_count(0)
    expect(item).to_be_visible()
    second = _shown(page)
    page.keyboard.press("Escape")
    expect(item).to_have_count(0)
    back, forward = page.go_back, page.go_forward
    for go, shown in ((back, second), (back, first), (back, None), (forward, first), (forward, second)):
        go()
        if shown is None:
            expect(item).to_have_count(0)
        else:
            expect(page.locator(f'[data-row="{shown}"][aria-current]')).to_have_count(1)
            expect(item).to_be_visible()


def test_filters_come_back_with_their_page(open_window: OpenWindow, world: World) -> None:
    page = open_window().open("/activity")
    page.keyboard.press("f")
    page.keyboard.type("decision:deny")
    page.keyboard.press("Enter")
    expect(page.locator(".chips")).to_contain_text("deny")
    page.keyboard.press("f")
    page.keyboard.press("Control+a")
    page.keyboard.type("decision:allow")
    page.keyboard.press("Enter")
    expect(page.locator(".chips")).to_contain_text("allow")
    page.go_back()
    expect(page.get_by_label("Filter", exact=True)).to_have_value("decision:deny")
    expect(page.locator(".chips")).to_contain_text("deny")
    page.go_back()
    expect(page.locator(".chips")).to_have_count(0)
    page.go_forward()
    expect(page.get_by_label("Filter", exact=True)).to_have_value("decision:deny")


def test_back_after_a_decision_shows_what_is_true_and_decides_nothing(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    approval_id = world.held({"repo": "acme/back"})
    page = open_window(Role.APPROVER).open("/activity")
    page.goto(page.url.replace("/activity", f"/inbox/{approval_id}"))
    page.keyboard.press("a")
    expect(page.locator("div.decide.closed")).to_contain_text("Approved")
    page.go_back()
    page.go_forward()
    expect(page.locator("div.decide.closed")).to_contain_text("Approved")
    expect(page.locator("form.decide")).to_have_count(0)
    votes = [one for one in administrator.approval(approval_id)["history"] if one["event"] == "approved"]
    assert len(votes) == 1


def test_a_form_beside_the_list_returns_to_it(open_window: OpenWindow, world: World) -> None:
    exchange_id = world.names["other_exchange_id"]
    page = open_window(script=False).open(f"/traffic?host=127.0.0.1&exchange={exchange_id}")
    page.get_by_role("textbox", name="Tags").fill("beside")
    page.get_by_role("button", name="Save note").click()
    expect(page.get_by_role("region", name="Exchange", exact=True).get_by_role("link", name="beside")).to_be_visible()
    expect(page.locator("#exchanges")).to_be_visible()
    assert page.url.endswith(f"/traffic?host=127.0.0.1&exchange={exchange_id}")
