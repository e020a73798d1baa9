"""A page names the risk of a call where a policy states it, and nowhere else."""

from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.world import World
from tests.e2e.clients import Administrator

_RATES = """package rated

require_approval contains "rated by hand" if input.operation == "rated_operation"

risk_level := "high"
"""


def test_the_mark_is_there_where_a_policy_states_the_risk(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    policy = {"name": "Rates one operation", "rego_policy": _RATES, "priority": 1}
    assert administrator.api.post("/admin/policies", json=policy).status_code == 201
    rated = world.submit("rated_operation", {"repo": "acme/rated"})
    silent = world.held({"repo": "acme/silent"})

    page = open_window(Role.APPROVER).open("/inbox?view=open")
    expect(page.locator(f'[data-row="{rated["approval_id"]}"]')).to_contain_text("High risk")
    expect(page.locator(f'[data-row="{silent}"]')).not_to_contain_text("High")

    page = open_window(Role.APPROVER).open(f"/inbox/{silent}")
    mark = page.locator(".lede .tag", has_text="Risk not stated")
    expect(mark).to_have_attribute(
        "title",
        "No policy that decided this call states its risk. Headgate treats it as"
        " high, the default. A policy sets it with risk_level.",
    )
    page = open_window(Role.APPROVER).open(f"/inbox/{rated['approval_id']}")
    expect(page.locator(".lede")).to_contain_text("High risk")
    page = open_window(Role.APPROVER).open(f"/calls/{rated['id']}")
    expect(page.locator(".lede")).to_contain_text("High risk")
