"""The documentation as a site: it is built without a warning, a page asks no other host for anything, search finds."""

import os
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

ROOT = Path(__file__).resolve().parents[2]


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """The test's output is not for it."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address. Strict: a dead link, a dead anchor or a page outside of the navigation ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [ROOT / ".venv/bin/mkdocs", "build", "--strict", "--config-file", "website/mkdocs.yml"]
    built = subprocess.run(
        [*command, "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert built.returncode == 0, built.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_asks_no_other_host_and_search_finds(site: str, browser: Browser) -> None:
    page = browser.new_page()
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url))
    page.goto(f"{site}/index.html")
    page.get_by_role("textbox", name="Search").first.fill("UPSTREAM_FAILED")
    found = page.locator(".md-search-result__link", has_text="UPSTREAM_FAILED").first
    expect(found).to_be_visible()
    where = urlsplit(found.get_attribute("href") or "")
    assert (where.path, where.fragment) == ("/reference/errors.html", "upstream_failed")
    page.goto(f"{site}/decisions/0014-check-voting-rights-at-the-vote.html")
    expect(page.get_by_role("heading", level=1)).to_contain_text("rights are checked when it is cast")
    assert {url for url in asked if not url.startswith((site, "data:", "blob:"))} == set()
    page.close()


def test_links_lead_to_pages_of_the_site_and_pictures_are_there(site: str, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{site}/index.html")
    links = page.locator("article a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert "guides/getting-started.html" in links and "security.html" in links
    assert [link for link in links if "docs/" in link or link.endswith(".md")] == []
    assert page.locator("article img").first.evaluate("one => one.decode().then(() => one.naturalWidth)") > 0
    page.close()
