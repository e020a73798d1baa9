"""A reviewer reads the whole body of an upload before deciding, without script too."""

import hashlib

import pytest
from playwright.sync_api import expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import DESKTOP, PHONE, Look
from tests.browser.world import World


@pytest.mark.parametrize(("look", "script"), [(DESKTOP, True), (PHONE, False)], ids=["desktop", "phone, no script"])
def test_from_the_request_to_its_last_byte(open_window: OpenWindow, world: World, look: Look, script: bool) -> None:
    page = open_window(Role.APPROVER, look, script=script).open(f"/inbox/{world.names['bytes_approval_id']}")
    expect(page.locator("#request")).to_contain_text("Complete. Secrets are masked.")
    page.get_by_role("link", name="Show the bytes").click()
    main = page.locator("main")
    expect(main).to_contain_text("Complete and exact.")
    expect(main.locator("table.hex tbody tr")).to_have_count(256)
    expect(main.get_by_role("link", name="Previous")).to_have_count(0)
    main.get_by_role("link", name="Last").click()
    expect(main.locator("table.hex tbody tr").last).to_contain_text("fe ff")
    expect(main.get_by_role("link", name="Next")).to_have_count(0)
    main.get_by_label("Offset").fill("0x1000")
    main.get_by_role("button", name="Go").click()
    expect(main.locator("table.hex tbody tr").first).to_contain_text("00001000")
    main.get_by_role("link", name="Text", exact=True).click()
    expect(main.locator("pre")).to_be_visible()


def test_the_download_has_the_digest_that_the_page_shows(open_window: OpenWindow, world: World) -> None:
    page = open_window(Role.APPROVER).open(f"/calls/{world.names['bytes_action_id']}/body")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    content = download.value.path().read_bytes()
    expect(page.locator("main")).to_contain_text(hashlib.sha256(content).hexdigest())


def test_the_parts_of_a_text_are_turned_by_key(open_window: OpenWindow, world: World) -> None:
    page = open_window(Role.VIEWER).open(f"/calls/{world.names['text_action_id']}/body")
    expect(page.locator("main pre")).to_contain_text("<script>alert(1)</script>")
    page.keyboard.press("n")
    page.wait_for_url("**offset=16384**")
    page.keyboard.press("p")
    page.wait_for_url("**/body?view=text")
