"""No event is lost between a page and its stream, between two tabs, or while the page is fetched again.

Requests of the browser are held back for as long as the event takes that must not be lost.
"""

import re
from collections.abc import Callable
from typing import Final

from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.world import World
from tests.e2e.clients import Administrator

_STREAM: Final = re.compile(r"/v1/approvals/events")
_COUNT_EVENTS: Final = """names => {
  window.seen = {};
  for (const name of names) {
    window.seen[name] = 0;
    document.addEventListener(name, ({ detail }) => {
      if (detail.isOpen === undefined) window.seen[name] += 1;
    });
  }
}"""


def _waiting(page: Page) -> int:
    """The count of open requests that the page shows: of those that its viewer may see."""
    return int(page.locator("#waiting").inner_text() or 0)


def _row(page: Page, approval_id: str) -> Locator:
    return page.locator(f'[data-row="{approval_id}"]')


def _held_back(page: Page, address: re.Pattern[str], cause: Callable[[], object]) -> Route:
    """The first request to ``address`` that ``cause`` leads to. It waits."""
    routes: list[Route] = []

    def keep(route: Route) -> None:
        routes.append(route)

    page.route(address, keep, times=1)
    with page.expect_request(address):
        cause()
    while not routes:
        page.wait_for_timeout(10)
    return routes[0]


def _follows(page: Page) -> None:
    """Its stream is open."""
    expect(page.locator("[data-live-state]")).to_be_visible()


def _wait_for(page: Page, name: str, times: int) -> None:
    page.wait_for_function("([name, times]) => window.seen[name] >= times", arg=[name, times])


def test_while_the_stream_is_being_opened(open_window: OpenWindow, world: World, before: int) -> None:
    window = open_window(Role.APPROVER)
    stream = _held_back(window.page, _STREAM, lambda: window.open("/inbox"))
    count = _waiting(window.page)
    approval_id = world.held({"repo": "acme/before-the-stream"})
    stream.continue_()
    expect(_row(window.page, approval_id)).to_be_visible()
    expect(window.page.locator("#waiting")).to_have_text(str(count + 1))


def test_before_a_tab_listens_to_the_one_that_holds_the_stream(
    open_window: OpenWindow, world: World, before: int
) -> None:
    window = open_window(Role.APPROVER)
    first, second = window.open("/inbox"), window.context.new_page()
    _follows(first)
    inbox = f"{window.address}/inbox"
    script = _held_back(second, re.compile(r"/static/stream\."), lambda: second.goto(inbox, wait_until="commit"))
    approval_id = world.held({"repo": "acme/before-the-tab"})
    expect(_row(first, approval_id)).to_be_visible()
    script.continue_()
    expect(_row(second, approval_id)).to_be_visible()


def test_before_a_tab_listens_to_the_one_that_holds_the_stream_of_background_work(
    open_window: OpenWindow, administrator: Administrator
) -> None:
    """The log does not have what it tells: a tab that comes later fetches its page."""
    window = open_window(Role.AUDITOR)
    first, second = window.open("/reports"), window.context.new_page()
    _follows(first)
    reports = f"{window.address}/reports"
    script = _held_back(second, re.compile(r"/static/stream\."), lambda: second.goto(reports, wait_until="commit"))
    made = administrator.api.post("/admin/audit/reports", json={"type": "access", "format": "csv"})
    assert made.is_success, made.text
    report = f'a[href*="{made.json()["id"]}"]'
    expect(first.locator(report)).to_be_visible()
    script.continue_()
    expect(second.locator(report)).to_be_visible()
    assert administrator.api.delete(f"/admin/audit/reports/{made.json()['id']}").is_success


def test_between_two_tabs_that_hold_the_stream(open_window: OpenWindow, world: World, before: int) -> None:
    window = open_window(Role.APPROVER)
    first, second = window.open("/policies"), window.context.new_page()
    expect(first.locator("#waiting")).to_be_attached()
    second.goto(f"{window.address}/inbox")
    _follows(second)
    stream = _held_back(second, _STREAM, first.close)
    approval_id = world.held({"repo": "acme/between-two-tabs"})
    stream.continue_()
    expect(_row(second, approval_id)).to_be_visible()


def test_an_older_answer_does_not_replace_a_newer_one(open_window: OpenWindow, world: World, before: int) -> None:
    window = open_window(Role.APPROVER)
    holder, inbox = window.open("/policies"), window.context.new_page()
    inbox.goto(f"{window.address}/inbox")
    _follows(inbox)
    count = _waiting(inbox)
    inbox.evaluate(_COUNT_EVENTS, ["headgate:stream", "headgate:fetched"])
    older: list[tuple[Route, APIResponse]] = []

    def answer(route: Route) -> None:
        if older:
            route.continue_()
        else:
            older.append((route, route.fetch()))

    inbox.route("**/inbox", answer)
    first = world.held({"repo": "acme/in-both-answers"})
    while not older:
        inbox.wait_for_timeout(10)
    second = world.held({"repo": "acme/in-the-newer-answer"})
    _wait_for(inbox, "headgate:stream", 2)
    expect(holder.locator("#waiting")).to_have_text(str(count + 2))
    inbox.wait_for_timeout(1_000)  # in which a newer answer would be here, if it were asked for
    route, fetched = older[0]
    route.fulfill(response=fetched)
    _wait_for(inbox, "headgate:fetched", 2)
    for page in (holder, inbox):
        expect(page.locator("#waiting")).to_have_text(str(count + 2))
    for approval_id in (first, second):
        expect(_row(inbox, approval_id)).to_be_visible()


def test_a_page_that_could_not_be_fetched_is_fetched_again(open_window: OpenWindow, world: World, before: int) -> None:
    page = open_window(Role.APPROVER).open("/inbox")
    _follows(page)
    page.route("**/inbox", lambda route: route.abort("aborted"), times=1)
    approval_id = world.held({"repo": "acme/fetched-again"})
    expect(_row(page, approval_id)).to_be_visible()


def test_a_list_is_behind_only_while_a_field_of_it_has_the_focus(
    open_window: OpenWindow, world: World, before: int
) -> None:
    here = world.held({"repo": "acme/focused"})
    page = open_window(Role.APPROVER).open("/inbox")
    _follows(page)
    page.evaluate(_COUNT_EVENTS, ["headgate:fetched"])
    page.locator(f'input[value^="{here}"]').focus()
    approval_id = world.held({"repo": "acme/meanwhile"})
    _wait_for(page, "headgate:fetched", 1)
    expect(_row(page, approval_id)).to_have_count(0)
    page.evaluate("document.activeElement.blur()")
    expect(_row(page, approval_id)).to_be_visible()


def test_a_request_that_is_approved_elsewhere_follows_its_call(
    open_window: OpenWindow, world: World, administrator: Administrator, before: int
) -> None:
    """Its page opened the stream of approvals, and needs the stream of calls now."""
    params = {"repo": "acme/approved-elsewhere"}
    approval_id = world.held(params)
    page = open_window(Role.APPROVER).open(f"/inbox/{approval_id}")
    _follows(page)
    with page.expect_request(re.compile(r"/v1/actions/events")):
        administrator.approve(approval_id)
    world.carry_out(administrator.approval(approval_id)["action_id"], "merge_pull_request", params)
    expect(page.locator("#request .decide")).to_contain_text("Failed")
