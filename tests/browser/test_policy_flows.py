"""Policies from a draft to an older version: ordered, compared, restored, tested, and replayed in the background."""

import json

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.world import World
from tests.e2e.clients import Administrator

_REGO = 'package {name}\n\nrequire_approval contains "{reason}" if input.tool == "no-such-tool"\n'
_CASES = [
    {
        "name": "it waits",
        "input": {"tool": "no-such-tool", "operation": "x", "params": {}},
        "expect": {"decision": "require_approval"},
    }
]


def _made(administrator: Administrator, name: str, priority: int) -> str:
    """Disabled: the calls of other tests do not meet it."""
    body = {"name": name, "rego_policy": _REGO.format(name=name, reason="first"), "priority": priority}
    made = administrator.api.post("/admin/policies", json=body | {"enabled": False})
    assert made.status_code == 201, made.text
    policy_id: str = made.json()["id"]
    return policy_id


def _priority(administrator: Administrator, policy_id: str) -> int:
    priority: int = administrator.get(f"/admin/policies/{policy_id}")["priority"]
    return priority


def test_policies_are_moved_and_their_priorities_saved(open_window: OpenWindow, administrator: Administrator) -> None:
    first, second = _made(administrator, "flow_first", 901), _made(administrator, "flow_second", 902)
    page = open_window(script=False).open("/policies")
    page.get_by_role("button", name="Run flow_second before flow_first").click()
    expect(page.locator("main")).to_be_visible()
    assert _priority(administrator, second) < _priority(administrator, first)
    page.locator("tr", has_text="flow_first").locator("input").fill("950")
    page.get_by_role("button", name="Save priorities").click()
    expect(page.locator("tr", has_text="flow_first").locator("input")).to_have_value("950")
    assert _priority(administrator, first) == 950


def test_a_version_is_compared_and_restored(open_window: OpenWindow, administrator: Administrator) -> None:
    policy_id = _made(administrator, "flow_versions", 903)
    page = open_window(script=False).open(f"/policies/{policy_id}")
    page.locator("textarea[name=rego_policy]").fill(_REGO.format(name="flow_versions", reason="second"))
    page.get_by_label("Version note").fill("another reason")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Compare version").fill("1")
    page.get_by_label("with", exact=True).fill("2")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".diff .add")).to_contain_text('"second"')
    expect(page.locator(".diff .del")).to_contain_text('"first"')
    page.get_by_role("link", name="Version 1").click()
    page.get_by_role("button", name="Restore version 1").click()
    page.wait_for_url(f"**/policies/{policy_id}")
    assert '"first"' in administrator.get(f"/admin/policies/{policy_id}")["rego_policy"]


def _drafted(page: Page) -> None:
    page.locator("textarea[name=rego_policy]").fill(_REGO.format(name="flow_draft", reason="it waits"))
    page.get_by_label("Test cases").fill(json.dumps(_CASES))


def test_a_draft_is_tested_and_replayed(open_window: OpenWindow) -> None:
    page = open_window(script=False).open("/policies/new")
    _drafted(page)
    page.get_by_role("button", name="Run tests").click()
    expect(page.get_by_role("region", name="Tests")).to_contain_text("1 of 1 passed")
    page.get_by_role("button", name="Show effect").click()
    if page.get_by_text("You can go on editing").is_visible():  # it took longer than the page waits
        page.wait_for_timeout(5_000)
        page.goto(page.url.partition("/policies")[0] + "/policies/effect")
    expect(page.locator("main")).to_contain_text("calls evaluated again, 0 with a different decision")


def test_a_rule_from_a_call_shows_its_tests_and_its_effect(open_window: OpenWindow, world: World) -> None:
    window = open_window()
    page = window.open("/calls/{action_id}".format_map(world.names))
    page.get_by_role("link", name="deny", exact=True).click()
    page.wait_for_url("**/policies/new?from=**")
    expect(page.get_by_role("region", name="Tests")).to_contain_text("Passed")
    editor, cases = page.locator(".editor-host"), page.get_by_label("Test cases")
    expect(page.get_by_text("calls evaluated again, ")).to_be_visible(timeout=30_000)
    box, beside = editor.bounding_box(), cases.bounding_box()
    assert box is not None and beside is not None
    assert beside["x"] >= box["x"] + box["width"]
    assert window.accessibility_violations() == []


def test_a_content_policy_is_tried_on_a_text(open_window: OpenWindow, administrator: Administrator) -> None:
    body = {"name": "flow content", "type": "pii_detection", "provider": "embedded", "model": "secrets"}
    made = administrator.api.post("/admin/nlp-policies", json=body | {"enabled": False})
    assert made.is_success, made.text
    page = open_window(script=False).open(f"/policies/content/{made.json()['id']}")
    page.get_by_label("Text or JSON").fill("aws_access_key_id = " + "AKIA" + "Q3EGXZ7TNWB5YLPM")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("It matches")
    expect(page.get_by_role("table", name="Findings")).to_contain_text("aws access token")
