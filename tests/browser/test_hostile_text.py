"""A request whose every text is hostile is shown whole. That no page lets such a text act: test_every_page.py."""

from headgate.kernel.visible_text import is_hidden
from tests.browser.conftest import OpenWindow
from tests.browser.world import HOSTILE, World


def test_a_hostile_request_is_shown_whole_in_boxes(open_window: OpenWindow, world: World) -> None:
    shown = open_window().open("/inbox/{hostile_approval_id}".format_map(world.names))
    values = shown.locator("dl.kv dd").all_inner_texts()
    for text in HOSTILE:
        assert _boxed(text) in values
    assert shown.locator("h1 .hid").count() > 0  # the agent's name


def test_what_a_destination_answers_is_shown_whole_in_boxes(open_window: OpenWindow, world: World) -> None:
    shown = open_window().open("/traffic/{exchange_id}".format_map(world.names))
    for summary in shown.locator("summary").all():
        summary.click()
    text = shown.locator("main").inner_text()
    for hostile in HOSTILE[:4]:
        assert _boxed(hostile) in text
    # A field of HTTP is bytes: the three of U+202E, one of which is a control character.
    assert "U+0080" in shown.locator('section[aria-labelledby="h-captured-response"] dl').inner_text()


def test_what_a_ticket_says_is_shown_whole_in_boxes(open_window: OpenWindow, world: World) -> None:
    shown = open_window().open("/inbox/{ticket_approval_id}".format_map(world.names))
    values = shown.locator("dl.kv dd").all_inner_texts()
    for hostile in HOSTILE[:4]:
        assert _boxed(hostile) in values
    received = open_window().open("/settings/integrations/github").locator("main").inner_text()
    assert _boxed(HOSTILE[3]) in received


def test_what_a_receiver_of_messages_answers_is_shown_in_boxes(open_window: OpenWindow, world: World) -> None:
    message = open_window().open("/settings/notifications/messages/{refused_message_id}".format_map(world.names))
    assert _boxed(HOSTILE[0] + HOSTILE[3])[:40] in message.locator("main").inner_text()


def _boxed(text: str) -> str:
    return "".join(f"U+{ord(one):04X}" if is_hidden(one) else one for one in text)
