"""A grant in a browser: previewed, given, used by the next call, and revoked."""

import pytest
from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import DESKTOP, PHONE, Look, Window
from tests.browser.world import World


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("look", [DESKTOP, PHONE], ids=str)
def test_from_the_held_call_to_the_revocation(
    open_window: OpenWindow, world: World, look: Look, *, script: bool
) -> None:
    repo = f"acme/granted-{look}-{script}"
    params = {"repo": repo, "number": 12, "options": {"method": "squash"}}
    window = open_window(Role.APPROVER, look, script=script)
    page = window.open(f"/inbox/{world.held(params)}")

    page.get_by_text("Grant similar requests").click()
    page.get_by_label("All that meet conditions").check()
    page.get_by_label("Condition for number").select_option("at_most")
    page.get_by_label("Value for number").fill("many")
    page.get_by_label("Condition for /options/method").select_option("any")
    form = page.locator(".grant-form")
    form.get_by_label("Reason").fill("the release of tonight")
    form.get_by_role("button", name="Preview").click()
    expect(form).to_contain_text("'many' is not a number.")
    expect(page.get_by_label("Value for number")).to_be_focused()
    page.get_by_label("Value for number").fill("20")
    form.get_by_role("button", name="Preview").click()
    expect(form.get_by_role("region", name="This grant would let through")).to_contain_text("number is at most 20")
    _is_clean(window, script=script)
    form.get_by_role("button", name="Approve and grant").click()
    page.wait_for_url("**/grants/grt_*")
    address = page.url

    assert world.submit("merge_pull_request", params | {"number": 21})["status"] == "pending_approval"
    used = world.submit("merge_pull_request", params | {"number": 19, "options": {"method": "merge"}})
    assert used["status"] == "allowed"
    if not script:
        page.reload()
    expect(page.locator("#use")).to_contain_text("1 of 5 used")
    expect(page.locator(f'#uses a[href="/calls/{used["id"]}"]')).to_be_visible()
    _is_clean(window, script=script)

    page.get_by_role("link", name="All grants").click()
    row = page.locator("tr", has_text=repo)
    expect(row).to_contain_text("1 of 5")
    _is_clean(window, script=script)
    row.get_by_role("link").click()
    page.wait_for_url(address)
    page.locator("summary", has_text="Revoke").click()
    page.get_by_label("Reason").fill("released")
    page.get_by_role("button", name="Revoke grant").click()
    expect(page.locator("main")).to_contain_text("“released”")
    assert world.submit("merge_pull_request", params | {"number": 18})["status"] == "pending_approval"


def _is_clean(window: Window, *, script: bool) -> None:
    assert window.overflow_pixels() <= 0
    if script:
        assert window.accessibility_violations() == []
