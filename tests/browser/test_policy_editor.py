"""The editor of a policy: it colors, completes and marks what is wrong, and the form sends what it shows."""

from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.e2e.clients import Administrator


def test_what_is_typed_is_checked_completed_and_saved(open_window: OpenWindow, administrator: Administrator) -> None:
    page = open_window(Role.ADMIN).open("/policies/new")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("package typed\n\nallow if not_there")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    for _ in "not_there":
        page.keyboard.press("Backspace")
    page.keyboard.type("input.ht")
    expect(page.locator(".cm-tooltip-autocomplete li").first).to_have_text("input.http")
    page.keyboard.press("Escape")
    page.keyboard.type('tp.host == "typed.example.com"')
    expect(page.locator(".cm-lint-marker-error")).to_have_count(0)
    expect(page.locator("#effect")).to_contain_text("calls")
    page.get_by_label("Name", exact=True).fill("Typed")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/policies/pol_*")
    saved = next(one for one in administrator.get("/admin/policies")["data"] if one["name"] == "Typed")
    assert 'input.http.host == "typed.example.com"' in saved["rego_policy"]


def test_without_script_the_text_field_is_the_editor(open_window: OpenWindow) -> None:
    page = open_window(Role.ADMIN, script=False).open("/policies/new")
    page.get_by_label("Name", exact=True).fill("Plain")
    page.locator("textarea[name=rego_policy]").fill("package plain\nallow if {\n")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("policy.rego:")
