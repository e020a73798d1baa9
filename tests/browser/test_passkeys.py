"""An invited person joins with a passkey and signs in with it; Chromium's virtual authenticator is the device."""

from playwright.sync_api import expect

from tests.browser.conftest import OpenWindow
from tests.browser.window import PHONE
from tests.e2e.clients import Administrator

_AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


def test_join_sign_out_and_sign_in(open_window: OpenWindow, administrator: Administrator) -> None:
    invited = administrator.api.post("/admin/invitations", json={"email": "grace@example.com", "roles": ["approver"]})
    assert invited.status_code == 201, invited.text
    window = open_window(None, PHONE)
    # A passkey is for a name: the dashboard's own, which only browsers resolve.
    window.address, _, _ = invited.json()["address"].partition("/auth/")
    assert window.address.startswith("http://headgate-") and ".localhost:" in window.address
    page = window.page
    devices = window.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": _AUTHENTICATOR})
    page.goto(invited.json()["address"])
    page.get_by_label("Your name").fill("Grace")
    page.get_by_role("button", name="Create a passkey and join").click()
    page.wait_for_url(f"{window.address}/inbox")
    page.get_by_role("link", name="More", exact=True).click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(f"{window.address}/inbox")
    page.get_by_role("link", name="More", exact=True).click()
    page.get_by_role("link", name="Your account").click()
    expect(page.locator("main")).to_contain_text("grace@example.com")
    assert window.accessibility_violations() == []
