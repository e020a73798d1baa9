"""Administering in a browser: an agent connected in a minute, and stopped at once."""

from playwright.sync_api import expect

from tests.browser.conftest import OpenWindow
from tests.browser.window import DESKTOP, PHONE
from tests.browser.world import World
from tests.e2e.clients import Administrator


def test_a_new_agent_s_page_turns_green_with_its_first_call(open_window: OpenWindow, world: World) -> None:
    page = open_window().open("/agents")
    page.get_by_role("link", name="Connect agent").click()
    page.get_by_label("Name", exact=True).fill("billing-agent")
    page.get_by_role("button", name="Create agent and key").click()
    key = page.locator("#key").inner_text()
    expect(page.locator("#arrival")).to_contain_text("Waiting for the first call")
    world.held({"repo": "acme/first-call"}, key=key)
    expect(page.locator("#arrival")).to_contain_text("Connected", timeout=20_000)


def test_an_agent_s_page_follows_its_calls_and_not_those_of_others(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    agent = administrator.new_agent("followed")
    page = open_window().open(f"/agents/{agent['id']}")
    expect(page.locator("[data-live-state]")).to_be_visible()
    page.locator("h1").hover()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    world.submit("merge_pull_request", {"repo": "acme/of-another"})
    called = world.submit("merge_pull_request", {"repo": "acme/followed"}, key=agent["api_key"]["key"])
    expect(page.locator(f'#recent [data-row="{called["id"]}"]')).to_contain_text("Held")
    expect(page.locator("#arrival")).to_contain_text("Connected")
    expect(page.locator("#figures")).to_contain_text("github.merge_pull_request 1")
    page.wait_for_timeout(3_000)
    fetched.clear()
    world.submit("merge_pull_request", {"repo": "acme/of-another"})
    page.wait_for_timeout(3_000)
    assert not [one for one in fetched if one.endswith(f"/agents/{agent['id']}")]


def test_a_stop_is_seen_on_every_page_until_somebody_resumes(
    open_window: OpenWindow, administrator: Administrator
) -> None:
    administrator.new_agent("runs away")
    other = open_window().open("/inbox")
    page = open_window(look=PHONE).open("/more")
    page.get_by_role("link", name="Stop").first.click()
    one_agent = page.locator("form", has_text="One agent")
    one_agent.get_by_label("Agent, by name or id").fill("runs away")
    one_agent.get_by_label("Reason").fill("it deletes branches")
    one_agent.get_by_role("button", name="Stop agent").click()
    expect(page.locator("main")).to_contain_text("it deletes branches")
    other.reload()
    expect(other.locator("#stop-state")).to_contain_text("Stopped: runs away")
    page.get_by_label("Reason to resume").fill("mended")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("main")).to_contain_text("No agent and no tool is stopped")


def test_nothing_is_stopped_without_a_reason(open_window: OpenWindow) -> None:
    page = open_window(look=DESKTOP, script=False).open("/stop")
    page.get_by_role("button", name="Stop all agents").click()
    assert page.evaluate("document.querySelector('form [name=reason]:invalid') !== null")
    expect(page.locator("main")).to_contain_text("No agent and no tool is stopped")
