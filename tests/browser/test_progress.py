"""Pages of background work change by themselves: an event stream says that it has moved, and no clock asks."""

from contextlib import contextmanager

from playwright.sync_api import Page, expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import PHONE
from tests.e2e.clients import Administrator
from tests.http_server import any_server


def _follows(page: Page) -> None:
    expect(page.locator("[data-live-state]")).to_be_visible()


@contextmanager
def _receiver():
    def receive(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
        return 200, "text/plain", b"ok"

    with any_server(receive) as origin:
        yield origin


def test_a_report_of_somebody_else_arrives_and_gets_ready(
    open_window: OpenWindow, administrator: Administrator
) -> None:
    auditor, phone = open_window(Role.AUDITOR).open("/reports"), open_window(look=PHONE).open("/reports")
    _follows(auditor)
    before = auditor.locator("#reports tbody tr").count()
    made = administrator.api.post("/admin/audit/reports", json={"type": "access", "format": "csv"})
    assert made.is_success, made.text
    expect(auditor.locator("#reports tbody tr")).to_have_count(before + 1)
    expect(auditor.locator(f'a[href*="{made.json()["id"]}"]')).to_be_visible()
    expect(phone.locator(f'a[href*="{made.json()["id"]}"]')).to_be_visible()
    assert administrator.api.delete(f"/admin/audit/reports/{made.json()['id']}").is_success
    expect(auditor.locator("#reports tbody tr")).to_have_count(before)


def test_a_delivery_arrives_and_ends(open_window: OpenWindow, administrator: Administrator) -> None:
    with _receiver() as origin:
        made = administrator.api.post("/admin/webhooks", json={"url": f"{origin}/progress"}).json()
        page = open_window().open(f"/settings/webhooks/{made['id']}")
        _follows(page)
        for count in (1, 2):
            assert administrator.api.post(f"/admin/webhooks/{made['id']}/test").is_success
            expect(page.locator("#deliveries tbody tr", has_text="Delivered")).to_have_count(count)
        assert administrator.api.delete(f"/admin/webhooks/{made['id']}").is_success


def test_the_lag_of_a_destination_is_live(open_window: OpenWindow, administrator: Administrator) -> None:
    page = open_window().open("/settings/siem")
    _follows(page)
    row = page.locator("#destinations tbody tr", has_text="progress")
    sent = {"address": "file:", "from": "now"}
    assert administrator.api.put("/admin/settings/siem", json={"destinations": {"progress": sent}}).is_success
    expect(row).to_be_visible()
    assert administrator.api.post("/admin/webhooks", json={"url": "ftp://example.com"}).status_code == 400
    expect(row.locator("time")).to_have_count(1)  # when an event was last sent
    assert administrator.api.put("/admin/settings/siem", json={"destinations": {}}).is_success
    expect(row).to_have_count(0)


def test_a_verification_shows_its_end(open_window: OpenWindow) -> None:
    watching, page = open_window(Role.AUDITOR), open_window(Role.AUDITOR).open("/audit/checkpoints")
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#verification")).to_contain_text("events, ")
    seen = watching.open("/audit/checkpoints")
    _follows(seen)
    first = seen.locator("#verification time").last.get_attribute("datetime")
    page.get_by_role("button", name="Verify").click()
    expect(seen.locator("#verification time").last).not_to_have_attribute("datetime", str(first))
    expect(seen.locator("#verification")).to_contain_text("Valid")


def test_a_page_that_nothing_happens_to_fetches_nothing(open_window: OpenWindow) -> None:
    window = open_window(Role.AUDITOR)
    page = window.open("/reports")
    _follows(page)
    page.wait_for_timeout(2_000)  # the first event names all kinds, which fetches the page once
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(5_000)
    assert asked == []
