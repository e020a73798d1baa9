"""A request whose every text is hostile is shown whole. That no page lets such a text act: test_every_page.py."""

from headgate.kernel.visible_text import is_hidden
from tests.browser.conftest import OpenWindow
from tests.browser.world import HOSTILE, World


def test_a_hostile_request_is_shown_whole_in_boxes(open_window: OpenWindow, world: World) -> None:
    shown = open_window().open("/inbox/{hostile_approval_id}".format_map(world.names))
    values = shown.locator("dl.kv dd").all_inner_texts()
    for text in HOSTILE:
        boxed = "".join(f"U+{ord(one):04X}" if is_hidden(one) else one for one in text)
        assert boxed in values
    assert shown.locator("h1 .hid").count() > 0  # the agent's name
