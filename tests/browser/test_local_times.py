"""A date and time that somebody enters is local time where they are, and UTC for the server."""

import re

from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.world import World
from tests.e2e.clients import Administrator

_INDIA = "Asia/Kolkata"  # five and a half hours before UTC


def test_an_address_means_the_same_everywhere(open_window: OpenWindow) -> None:
    page = open_window(zone=_INDIA).open("/audit?start_date=2026-11-24T18:45")
    expect(page.get_by_label("From")).to_have_value("2026-11-25T00:15")
    expect(page.locator("label", has_text="From")).to_contain_text("Your local time (Asia/")
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_url(re.compile(r"start_date=2026-11-24T18%3A45"))
    expect(page.get_by_label("From")).to_have_value("2026-11-25T00:15")


def test_a_grant_ends_in_the_evening_of_the_reviewer(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    page = open_window(Role.APPROVER, zone=_INDIA).open(f"/inbox/{world.held({'repo': 'acme/tonight'})}")
    page.get_by_text("Grant similar requests").click()
    form = page.locator(".grant-form")
    soon = page.evaluate("new Date(Date.now() + 3_600_000).toISOString().slice(0, 16)")
    local = page.evaluate("(utc) => new Date(Date.parse(utc + 'Z') + 19_800_000).toISOString().slice(0, 16)", soon)
    form.get_by_label("Or ends at").fill(local)
    form.get_by_label("Reason").fill("the release of tonight")
    form.get_by_role("button", name="Preview").click()
    expect(form.get_by_label("Or ends at")).to_have_value(local)
    form.get_by_role("button", name="Approve and grant").click()
    page.wait_for_url("**/grants/grt_*")
    grant = administrator.get(f"/admin/grants/{page.url.rpartition('/')[2]}")
    assert grant["expires_at"].startswith(soon)


def test_without_script_the_hint_says_utc(open_window: OpenWindow) -> None:
    page = open_window(script=False, zone=_INDIA).open("/audit?start_date=2026-11-24T18:45")
    expect(page.get_by_label("From")).to_have_value("2026-11-24T18:45")
    expect(page.locator("label", has_text="From")).to_contain_text("In UTC. The current time is")
