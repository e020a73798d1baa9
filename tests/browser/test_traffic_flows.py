"""Captured traffic: noted, tagged, compared, and taken away."""

import json

from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.world import World
from tests.e2e.clients import Administrator


def test_a_note_and_tags_find_the_exchange_again(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    exchange_id = world.names["other_exchange_id"]
    page = open_window(Role.ADMIN, script=False).open(f"/traffic/{exchange_id}")
    page.get_by_label("Note, for other reviewers").fill("reads a page\nthat nobody asked for")
    page.get_by_role("textbox", name="Tags").fill("flow ticket-482")
    page.get_by_role("button", name="Save note").click()
    page.get_by_role("link", name="ticket-482").click()
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator(f'[data-row="{exchange_id}"]')).to_contain_text("that nobody asked for")
    assert administrator.get(f"/admin/traffic/{exchange_id}")["tags"] == ["flow", "ticket-482"]


def test_two_exchanges_are_compared(open_window: OpenWindow, world: World) -> None:
    page = open_window(Role.ADMIN, script=False).open("/traffic/{exchange_id}".format_map(world.names))
    page.get_by_label("Identifier of the other exchange").fill(world.names["other_exchange_id"])
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/traffic/compare?**")
    expect(page.locator("main")).to_contain_text("/page")


def test_an_exchange_is_exported(open_window: OpenWindow, world: World) -> None:
    page = open_window(Role.ADMIN).open("/traffic/{other_exchange_id}".format_map(world.names))
    with page.expect_download() as download:
        page.get_by_role("link", name="Export HAR").click()
    har = json.loads(download.value.path().read_text("utf-8"))
    assert [one["request"]["url"].rpartition("/")[2] for one in har["log"]["entries"]] == ["page"]
    for name in ("Export mitmproxy flow", "Export curl"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert b"/page" in download.value.path().read_bytes()


def test_a_call_s_traffic_is_downloaded(open_window: OpenWindow, world: World) -> None:
    page = open_window(Role.ADMIN).open("/calls/{captured_action_id}".format_map(world.names))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download HAR").click()
    assert len(json.loads(download.value.path().read_text("utf-8"))["log"]["entries"]) == 1
