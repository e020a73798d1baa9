"""What reviewers do besides approving and denying one request: other people, all identical ones, the proof."""

import zipfile

from playwright.sync_api import Page, expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import PHONE
from tests.browser.world import World
from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance


def _opened(page: Page, summary: str) -> None:
    page.locator("summary", has_text=summary).click()


def test_a_request_is_reassigned_and_escalated(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    approval_id = world.held({"repo": "acme/reassigned"})
    page = open_window(Role.ADMIN, PHONE, script=False).open(f"/inbox/{approval_id}")
    _opened(page, "Reassign")
    form = page.locator("form", has=page.get_by_role("button", name="Reassign", exact=True))
    form.get_by_label("Assignees").fill("group:release-managers")
    form.get_by_label("Reason").fill("they know the site")
    form.get_by_role("button", name="Reassign", exact=True).click()
    expect(page.locator("main")).to_contain_text("they know the site")
    assert [one["id"] for one in administrator.approval(approval_id)["assignees"]] == ["group:release-managers"]
    _opened(page, "Escalate")
    form = page.locator("form", has=page.get_by_role("button", name="Escalate", exact=True))
    form.get_by_label("Reason").fill("nobody looks")
    form.get_by_role("button", name="Escalate", exact=True).click()
    expect(page.locator("main")).to_contain_text("nobody looks")
    assert administrator.approval(approval_id)["escalated_at"] is not None
    expect(page.locator("summary", has_text="Escalate")).to_have_count(0)


def test_identical_requests_are_approved_together(
    open_window: OpenWindow, world: World, administrator: Administrator
) -> None:
    ids = [world.held({"repo": "acme/identical"}) for _ in range(3)]
    other = world.held({"repo": "acme/not-identical"})
    page = open_window(Role.APPROVER).open(f"/inbox/{ids[0]}")
    page.get_by_role("button", name="Approve all 3", exact=True).click()
    page.wait_for_url("**/inbox**")
    assert [administrator.approval(one)["status"] for one in (*ids, other)] == ["approved"] * 3 + ["pending"]


def test_the_proof_pack_is_downloaded(open_window: OpenWindow, world: World) -> None:
    page = open_window(Role.ADMIN).open("/inbox/{decided_approval_id}".format_map(world.names))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download proof pack").first.click()
    with zipfile.ZipFile(download.value.path()) as pack:
        assert pack.testzip() is None
        assert any(name.endswith(".json") for name in pack.namelist())


def test_the_outcome_of_an_approved_call_appears_without_a_reload(
    open_window: OpenWindow, instance: Instance, administrator: Administrator
) -> None:
    """Its destination has no address: the call is not sent, and the approval can be used again."""
    agent = Agent(instance)
    call = agent.call_later("POST", "https://nowhere.invalid/outcome", json={"amount": 12})
    approval_id = administrator.pending("/outcome")["id"]
    page = open_window(Role.ADMIN).open(f"/inbox/{approval_id}")
    page.get_by_role("button", name="Approve", exact=True).click()
    closed = page.locator("#request .closed")
    expect(closed).to_contain_text("Failed")
    expect(closed).to_contain_text("Not used yet")
    assert call.result().status_code == 502
    agent.close()
    closed.get_by_role("link", name="Open call").click()
    expect(page.locator("main")).to_contain_text("nowhere.invalid")
