"""Each page in a browser: accessible, as wide as its window, light, nothing in the console, no foreign request.

What agents, destinations and people wrote is text there: no markup of it, no script, no hidden character."""

import pytest

from admin_api.access import ACCESS, Audience
from headgate.kernel.visible_text import is_hidden
from tests.browser.conftest import OpenWindow
from tests.browser.pages import PAGES, Page, path_of
from tests.browser.window import DESKTOP, NARROW, PHONE, PHONE_DARK, TABLET
from tests.browser.world import World

_AT_MOST = 90 * 1024
_EDITOR_AT_MOST = 160 * 1024
_FOREIGN = """() => {
  const attributes = [...document.querySelectorAll("*")].flatMap((one) => [...one.attributes]);
  const acting = attributes.filter(({name, value}) =>
    name.startsWith("on") || name === "style" || /^\\s*(javascript|data|vbscript):/i.test(value));
  const loading = "img, iframe, object, embed, base, style, script:not([src^='/static/'])";
  return [...acting.map(({name, value}) => `${name}=${value}`),
    ...[...document.querySelectorAll(loading)].map((one) => one.outerHTML)];
}"""
_TEXT = """() => [document.title, document.body.innerText,
  ...[...document.querySelectorAll("*")].flatMap((one) => [one.title, one.ariaLabel, one.placeholder, one.value]),
].filter((one) => typeof one === "string").join("\\n")"""
_OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
_KEPT = "\n\t\r\u00a0"


def test_every_page_is_in_the_table() -> None:
    shown = {
        path.rstrip("/")
        for method, path in ACCESS
        if method == "GET" and ACCESS[method, path].audience is Audience.PAGES
    }
    listed = {page.path.partition("?")[0].rstrip("/") for page in PAGES}
    patterns = {"/".join("{}" if part.startswith("{") else part for part in path.split("/")) for path in listed}
    assert shown <= patterns, f"add a line to PAGES: {sorted(shown - patterns)}"


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_it_is_accessible_and_text_is_text(kept_window: OpenWindow, world: World, page: Page) -> None:
    window = kept_window(page.opener)
    shown = window.open(page.path.format_map(world.names), status=page.status)
    assert 0 < window.weight_bytes() <= (_EDITOR_AT_MOST if page.has_editor else _AT_MOST)
    assert shown.evaluate(_FOREIGN) == []
    shown.evaluate(_OPEN)
    text: str = shown.evaluate(_TEXT)
    assert {f"U+{ord(one):04X}" for one in text if one not in _KEPT and is_hidden(one)} == set()
    for look in (DESKTOP, PHONE_DARK):
        window.look(look)
        assert window.accessibility_violations() == [], look
        assert window.overflow_pixels() <= 0, look
    window.check()


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_it_is_readable_without_script(kept_window: OpenWindow, world: World, page: Page) -> None:
    window = kept_window(page.opener, PHONE, script=False)
    shown = window.open(page.path.format_map(world.names), status=page.status)
    assert shown.locator("main").inner_text().strip()
    assert shown.locator("[data-copy-from]:visible, [data-copy] svg:visible").count() == 0
    for look in (PHONE, NARROW, TABLET):
        window.look(look)
        assert window.overflow_pixels() <= 0, look
        assert window.sideways_tables() == [], look
    window.check()
