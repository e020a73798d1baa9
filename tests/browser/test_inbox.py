"""Deciding in the inbox: by keyboard alone, without script, by two people at once."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import DESKTOP, PHONE, Look
from tests.browser.world import HOSTILE, World
from tests.e2e.clients import Administrator


def _status(administrator: Administrator, approval_id: str) -> str:
    status: str = administrator.approval(approval_id)["status"]
    return status


def _focused(page: Page, what: str) -> Any:
    """Of the element that has the focus. While a page changes, none has it for a moment."""
    for _ in range(20):
        found = page.evaluate(f"document.activeElement?.{what}")
        if found is not None:
            return found
        page.wait_for_timeout(50)
    return None


def test_by_keyboard_alone(open_window: OpenWindow, world: World, administrator: Administrator) -> None:
    older, newer = world.held({"repo": "acme/older"}), world.held({"repo": "acme/newer"})
    page = open_window(Role.APPROVER).open("/inbox")
    page.keyboard.press("Tab")
    assert _focused(page, "textContent") == "Skip to content"
    page.keyboard.press("j")  # the first one is shown beside the list
    assert _focused(page, "dataset.row") == older
    page.keyboard.press("k")
    assert _focused(page, "dataset.row") == newer
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/inbox/{newer}")
    page.keyboard.press("d")
    page.keyboard.type("not tonight, said j and k")
    page.keyboard.press("Tab")
    assert _focused(page, "innerText") == "Deny"
    page.keyboard.press("Enter")
    expect(page.locator("h1#sentence")).to_contain_text("was not allowed")
    assert administrator.approval(newer)["comment"] == "not tonight, said j and k"
    page.keyboard.press("n")
    page.wait_for_url(f"**/inbox/{older}")
    page.keyboard.press("a")
    expect(page.locator("h1#sentence")).to_contain_text("was allowed")
    assert _status(administrator, older) == "approved"


def test_keys_act_on_the_request_that_is_shown(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    older, newer = world.held({"repo": "acme/not-shown"}), world.held({"repo": "acme/shown"})
    page = open_window(Role.APPROVER).open(f"/inbox/{newer}")
    page.focus(f'[data-row="{older}"]')
    page.keyboard.press("a")  # the other row has the focus: the key shows it
    page.wait_for_url(f"**/inbox/{older}")
    assert (_status(administrator, older), _status(administrator, newer)) == ("pending", "pending")
    page.keyboard.press("x")
    expect(page.locator(f'input[value^="{older}"]')).to_be_checked()
    page.keyboard.press("a")  # about what is selected: a key about one request would lose the selection
    assert _focused(page, "innerText") == "Approve selected"
    page.keyboard.press("d")
    assert _focused(page, "name") == "reason"
    assert (_status(administrator, older), _status(administrator, newer)) == ("pending", "pending")


def test_a_reason_that_is_typed_beside_its_field_decides_nothing(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    held = world.held({"repo": "acme/typed"})
    page = open_window(Role.APPROVER).open(f"/inbox/{held}")
    page.keyboard.type("a b", delay=60)
    page.wait_for_timeout(900)
    assert _status(administrator, held) == "pending"
    page.get_by_role("button", name="Deny", exact=True).click()  # the browser asks for the reason
    assert _focused(page, "name") == "reason"
    page.keyboard.type("a bad call")
    page.keyboard.press("Enter")
    expect(page.locator("h1#sentence")).to_contain_text("was not allowed")
    assert administrator.approval(held)["comment"] == "a bad call"


def test_edit_by_key_focuses_what_is_edited(open_window: OpenWindow, world: World) -> None:
    page = open_window(Role.APPROVER).open(f"/inbox/{world.held({'repo': 'acme/edited-by-key'})}")
    page.keyboard.press("e")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Tab")
    assert _focused(page, "name") == "reason"


def test_a_filter_without_a_match_says_so(open_window: OpenWindow, world: World) -> None:
    world.held({"repo": "acme/filtered"})
    page = open_window(Role.APPROVER).open("/inbox?tool=nowhere")
    expect(page.locator("main")).to_contain_text("No requests match the filter")
    expect(page.locator("main")).to_contain_text("Open requests without the filter:")
    page.get_by_role("link", name="Clear the filter").click()
    page.wait_for_url("**/inbox")


def test_the_keys_are_explained(open_window: OpenWindow, world: World) -> None:
    window = open_window()
    page = window.open("/inbox/{approval_id}".format_map(world.names))
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Approve")
    assert window.accessibility_violations() == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize("look", [DESKTOP, PHONE], ids=str)
def test_without_script(open_window: OpenWindow, world: World, administrator: Administrator, look: Look) -> None:
    one, other = world.held({"repo": "acme/first"}), world.held({"repo": "acme/second"})
    page = open_window(Role.APPROVER, look, script=False).open("/inbox")
    page.click(f'[data-row="{one}"]')
    page.get_by_role("form", name="Decision").get_by_label("Reason").fill("no")
    page.get_by_role("button", name="Deny", exact=True).click()
    expect(page.locator("h1#sentence")).to_contain_text("was not allowed")
    page.goto(page.url.partition("/inbox")[0] + "/inbox")
    page.check(f'input[value^="{other}"]')
    page.get_by_role("button", name="Approve selected").click()
    page.wait_for_url("**/inbox")
    assert (_status(administrator, one), _status(administrator, other)) == ("denied", "approved")


def test_a_hostile_request_is_edited_as_it_is(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    params = {f"field {number}": text for number, text in enumerate(HOSTILE[:6])} | {"lines": "one\ntwo"}
    approval_id = world.held(params)
    page = open_window(Role.ADMIN).open(f"/inbox/{approval_id}")
    page.keyboard.press("e")
    editor = page.locator(".cm-content")
    expect(editor).to_be_focused()
    shown = page.locator("textarea[name=params]").input_value()
    assert json.loads(shown) == params
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(json.dumps(json.loads(shown))[:-1])
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(json.dumps(json.loads(shown) | {"added": True}))
    expect(page.locator(".cm-lint-marker-error")).to_have_count(0)
    page.get_by_role("button", name="Approve edited params").click()
    expect(page.locator("h1#sentence")).to_contain_text("was allowed")
    edited = administrator.approval(approval_id)["edit"]["params"]
    assert edited == params | {"added": True}


def test_two_people_at_once_see_the_truth(open_window: OpenWindow, world: World, administrator: Administrator) -> None:
    approval_id = world.held({"repo": "acme/both"})
    first = open_window(Role.APPROVER).open(f"/inbox/{approval_id}")
    second = open_window(Role.ADMIN).open(f"/inbox/{approval_id}")
    late = open_window(Role.ADMIN, script=False).open(f"/inbox/{approval_id}")
    expect(second.locator("[data-live-state]")).to_be_visible()
    first.get_by_role("button", name="Approve", exact=True).click()
    expect(second.locator("h1#sentence")).to_contain_text("was allowed")
    expect(second.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    late.get_by_role("form", name="Decision").get_by_label("Reason").fill("too late")
    with late.expect_response(lambda answer: answer.request.method == "POST") as refused:
        late.get_by_role("button", name="Deny", exact=True).click()
    assert refused.value.status == 409
    expect(late.locator("h1#sentence")).to_contain_text("was allowed")
    expect(late.get_by_role("alert")).to_be_visible()
    assert _status(administrator, approval_id) == "approved"


def test_new_requests_arrive_without_moving_what_is_under_the_pointer(open_window: OpenWindow, world: World) -> None:
    page = open_window().open("/inbox")
    expect(page.locator("[data-live-state]")).to_be_visible()
    page.locator("[data-list] [data-row]").first.hover()
    before = page.locator("[data-list] [data-row]").first.get_attribute("data-row")
    approval_id = world.held({"repo": "acme/arrives"})
    page.get_by_role("button", name="Show 1 new").wait_for()
    assert page.locator("[data-list] [data-row]").first.get_attribute("data-row") == before
    page.check(f'input[value^="{before}"]')
    page.get_by_role("button", name="Show 1 new").click()
    expect(page.locator("[data-list] [data-row]").first).to_have_attribute("data-row", approval_id)
    expect(page.locator(f'input[value^="{before}"]')).to_be_checked()
    expect(page.locator("input[name=selected]:checked")).to_have_count(1)


def test_what_is_read_is_not_changed_under_the_eyes(open_window: OpenWindow, world: World) -> None:
    approval_id = world.held({"repo": "acme/edited"})
    page = open_window(Role.APPROVER).open(f"/inbox/{approval_id}")
    # As after an edit by somebody else: the page that is fetched has another digest than this one.
    page.locator("#request").evaluate("article => { article.dataset.version = 'sha256:' + '0'.repeat(64) }")
    page.locator(".decide input[name=digest]").evaluate("field => { field.value = 'sha256:' + '0'.repeat(64) }")
    world.held({"repo": "acme/another"})
    expect(page.get_by_text("A reviewer has edited this request.")).to_be_visible()
    assert page.locator(".decide input[name=digest]").input_value() == "sha256:" + "0" * 64
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("alert").first).to_be_visible()
    assert page.locator(".decide.closed").count() == 0


def test_another_request_does_not_take_the_place_of_the_one_that_is_read(open_window: OpenWindow, world: World) -> None:
    approval_id = world.held({"repo": "acme/first"})
    page = open_window(Role.APPROVER).open("/inbox")
    shown = page.locator("#request").get_attribute("data-subject")
    newer = world.held({"repo": "acme/second"})
    expect(page.locator(f'[data-row="{newer}"]')).to_be_visible()
    assert page.locator("#request").get_attribute("data-subject") == shown == approval_id


def test_what_was_entered_is_kept_until_it_cannot_be_sent(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    approval_id = world.held({"repo": "acme/entered"})
    page = open_window(Role.APPROVER).open(f"/inbox/{approval_id}")
    reason = page.get_by_role("form", name="Decision").get_by_label("Reason", exact=True)
    reason.fill("half a reason")
    reason.blur()
    asked = {"assignees": ["admin@example.com", "approver@example.com"], "comment": "look at it"}
    assert administrator.api.post(f"/v1/approvals/{approval_id}/reassign", json=asked).is_success
    world.held({"repo": "acme/beside it"})
    expect(page.locator("[data-row]").filter(has_text="beside it").first).to_be_visible()
    expect(reason).to_have_value("half a reason")
    assert administrator.approve(approval_id).status_code == 200
    expect(page.locator("h1#sentence")).to_contain_text("was allowed")
