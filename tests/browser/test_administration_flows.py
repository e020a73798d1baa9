"""What administrators do to what is there: agents, people, executions, messages, holds and reports."""

from contextlib import closing
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, expect

from headgate.kernel.public_roots import public_roots
from tests.browser.conftest import OpenWindow
from tests.browser.window import PHONE
from tests.browser.world import World
from tests.e2e.clients import Administrator
from tests.e2e.instance import Instance
from tests.e2e.waiting import wait_for
from tests.http_server import any_server


def _accepts(instance: Instance, key: str) -> bool:
    """Whether the API takes this key of an agent."""
    address = instance.runtime["api_url"] + "/v1/agents/me"
    return httpx.get(
        address, verify=public_roots(), headers={"x-agent-key": key}, trust_env=False, timeout=30
    ).is_success


def test_keys_are_rotated_and_revoked_and_the_agent_suspended_and_deactivated(
    open_window: OpenWindow, administrator: Administrator, instance: Instance
) -> None:
    agent = administrator.new_agent("flow agent")
    page = open_window(look=PHONE, script=False).open(f"/agents/{agent['id']}")
    page.locator("summary", has_text="Rotate…").click()
    page.get_by_role("button", name="Rotate hg_").click()
    fresh = page.locator("#key").inner_text()
    assert _accepts(instance, fresh)
    page.goto(page.url.partition("#")[0])
    page.get_by_label("Reason").fill("it deletes branches")
    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert administrator.get(f"/admin/agents/{agent['id']}")["status_reason"] == "it deletes branches"
    assert not _accepts(instance, fresh)
    page.get_by_role("button", name="Resume").click()
    assert _accepts(instance, fresh)
    while page.locator("summary", has_text="Revoke…").count():
        assert _accepts(instance, fresh)  # nothing is revoked before the confirmation
        page.locator("summary", has_text="Revoke…").first.click()
        page.get_by_role("button", name="Revoke hg_").click()
    assert not _accepts(instance, fresh)
    page.locator("summary", has_text="Deactivate").click()
    page.get_by_role("button", name="Deactivate flow agent").click()
    expect(page.locator("main")).to_contain_text("Deactivated")
    assert administrator.get(f"/admin/agents/{agent['id']}")["status"] == "deactivated"


def test_a_member_gets_roles_is_signed_out_and_deactivated(
    open_window: OpenWindow, world: World, administrator: Administrator, browser: Browser
) -> None:
    email = "leaver@example.com"
    with closing(browser.new_context()) as context:
        own = context.new_page()
        _signed_in(own, world.sign_in_link(email, "viewer"))
        user = _user(administrator, email)
        page = open_window(script=False).open(f"/settings/members/{user['id']}")
        page.get_by_label("auditor", exact=True).check()
        page.get_by_role("button", name="Save roles").click()
        expect(page.get_by_label("auditor", exact=True)).to_be_checked()
        assert _user(administrator, email)["granted_roles"] == ["auditor"]
        page.get_by_role("button", name="Sign out everywhere").click()
        expect(page.locator("main")).to_contain_text("No browser is signed in.")
        own.goto(own.url)
        assert "/auth/login" in own.url
        _signed_in(own, world.sign_in_link(email, "viewer"))
        page.goto(page.url)
        page.locator("summary", has_text="Deactivate").click()
        page.get_by_role("button", name=f"Deactivate {email}").click()
        expect(page.get_by_role("button", name="Reactivate")).to_be_visible()
        own.goto(own.url)
        assert "/auth/login" in own.url


def _user(administrator: Administrator, email: str) -> dict[str, Any]:
    people = administrator.get("/admin/users", limit=200)["data"]
    return next(one for one in people if one["email"] == email)


def _signed_in(page: Page, link: str) -> None:
    page.goto(link)
    page.click("main button")
    page.wait_for_url(lambda address: "/auth/" not in address)


def test_an_execution_is_retried(open_window: OpenWindow, world: World, administrator: Administrator) -> None:
    execution_id = world.names["execution_id"]
    wait_for(lambda: administrator.get(f"/v1/executions/{execution_id}")["status"] == "failed" or None, "it has failed")
    page = open_window(script=False).open(f"/executions/{execution_id}")
    page.get_by_label("Reset the number of attempts").check()
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    types = administrator.event_types(administrator.get(f"/v1/executions/{execution_id}")["action_id"])
    assert "execution.retried" in types


def test_executions_arrive_and_end_by_themselves(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    page = open_window().open("/executions")
    expect(page.locator("[data-live-state]")).to_be_visible()
    page.locator("h1").hover()
    begun = world.submit("get", {"url": "https://arrives.example.com/"}, tool="http")
    row = page.locator(f'[data-row="{begun["execution"]["id"]}"]')
    expect(row).to_be_visible()
    one = open_window(look=PHONE).open(f"/executions/{begun['execution']['id']}")
    expect(one.locator("main")).to_contain_text("Attempt failed, to be repeated", timeout=30_000)
    expect(one.locator(".timeline")).to_contain_text("Forwarded, attempt 2", timeout=30_000)
    expect(row).to_contain_text("Failed", timeout=30_000)
    expect(one.locator(".timeline")).to_contain_text("has no address", timeout=30_000)


def test_deliveries_are_sent_again(open_window: OpenWindow, administrator: Administrator) -> None:
    received: list[str] = []

    def receive(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
        received.append(target)
        return 200, "text/plain", b"ok"

    def has(count: int) -> bool | None:
        return len(received) >= count or None

    with any_server(receive) as origin:
        made = administrator.api.post("/admin/webhooks", json={"url": f"{origin}/flow"})
        assert made.is_success, made.text
        page = open_window(script=False).open(f"/settings/webhooks/{made.json()['id']}")
        with page.expect_navigation():  # it may arrive before the browser is shown the page that is reloaded below
            page.get_by_role("button", name="Send test").click()
        wait_for(lambda: has(1), "the test has arrived")
        again = page.get_by_role("button", name="Send again")
        wait_for(lambda: (page.reload(), again.count())[1] or None, "the delivery is done")
        again.first.click()
        wait_for(lambda: has(2), "it has arrived again")
        assert administrator.api.delete(f"/admin/webhooks/{made.json()['id']}").is_success


def test_a_message_is_sent_again(open_window: OpenWindow, world: World, administrator: Administrator) -> None:
    received: list[str] = []

    def receive(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
        received.append(target)
        return 200, "application/json", b'{"ok": true, "channel": "C0123456789", "ts": "1.1"}'

    with any_server(receive) as origin:
        slack = {"kind": "slack", "channel": "C0123456789", "api_url": origin, "token": "xoxb-none"}
        world.notify({"flow": slack | {"signing_secret": "a signing secret"}})
        told = administrator.api.post("/admin/settings/notifications/test", json={"channel": "flow"})
        page = open_window(script=False).open(f"/settings/notifications/messages/{told.json()['id']}")
        again = page.get_by_role("button", name="Send again")
        wait_for(lambda: (page.reload(), again.count())[1] or None, "the message is sent")
        before = len(received)
        again.click()
        expect(page.get_by_role("alert")).to_have_count(0)
        wait_for(lambda: len(received) > before or None, "it has arrived again")
    world.notify({})


def test_a_hold_is_lifted(open_window: OpenWindow, administrator: Administrator) -> None:
    made = administrator.api.post("/admin/retention/holds", json={"scope": "organization", "reason": "flow case"})
    assert made.is_success, made.text
    page = open_window(script=False).open("/audit/holds")
    hold = page.locator("li.hold", has_text="flow case")
    hold.locator("summary", has_text="Lift").click()
    hold.get_by_label("Reason to lift the hold").fill("the case is closed")
    hold.get_by_role("button", name="Lift hold").click()
    expect(page.locator("li.hold", has_text="flow case")).to_contain_text("the case is closed")


def test_a_report_is_made_and_downloaded(open_window: OpenWindow) -> None:
    page = open_window().open("/reports")
    page.get_by_label("Format").select_option("CSV")
    page.get_by_role("button", name="Create report").click()
    link = page.get_by_role("link", name="Download").first
    expect(link).to_be_visible()
    with page.expect_download() as download:
        link.click()
    assert download.value.path().stat().st_size > 0
