"""The owner of an agent, who has no role here, follows the link of a refusal."""

from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.world import HOSTILE, World
from tests.e2e.clients import Administrator


def test_from_the_refusal_to_its_reason(open_window: OpenWindow, world: World, administrator: Administrator) -> None:
    agent = administrator.api.post("/admin/agents", json={"name": HOSTILE[1], "owner": "operator@example.com"}).json()
    denied = world.submit("delete_repo", {"owner": "acme", "repo": "site"}, key=agent["api_key"]["key"])
    window = open_window(Role.OPERATOR)
    page = window.open(f"/calls/{denied['id']}")
    expect(page.locator("main")).to_contain_text("You see this page because you own the agent.")
    expect(page.locator("main")).to_contain_text("Change the call, or ask an administrator to change the policy.")
    assert window.accessibility_violations() == []
    assert window.overflow_pixels() <= 0
    window.open(f"/calls/{world.names['action_id']}", status=403)
