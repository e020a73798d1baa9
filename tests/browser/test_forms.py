"""The forms of administration, each filled in and sent: by keyboard alone, and in a browser without script."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, StorageState, expect

from headgate.organizations.model import Role
from tests.browser.conftest import OpenWindow
from tests.browser.window import PHONE
from tests.browser.world import World

_TABS_MAX: Final = 200
_AWAY: Final = {"keys": "admin@example.com", "hand": "Administrator"}
# A field of JSON hands the focus to its editor, which may take its place before the test looks.
_HAS_FOCUS: Final = "(one) => document.activeElement === (one.hidden ? one.nextElementSibling : one)"

type Typed = tuple[tuple[str, str | bool], ...]


@dataclass(frozen=True, slots=True)
class Filled:
    """A form of the page at ``path``, which has ``button``. ``typed``: by the label of each field, in the order of the
    page; True ticks it. ``shown``: what the page that answers says; empty: the last field keeps what was typed. ``NEW``
    becomes another word for each way of filling it in, ``SOON`` a
    time in a week, and ``AWAY`` another person."""

    path: str
    button: str
    typed: Typed
    shown: str = ""


FORMS: Final = (
    # people
    Filled(
        "/settings/groups",
        "Create group",
        (("Name", "NEW"), ("Description", "on call"), ("Other members", "bo@example.com")),
        "group:NEW",
    ),
    Filled("/settings/groups/{group_name}", "Save group", (("Description", "who release NEW"),)),
    Filled("/settings/members", "Create invitation", (("Email address", "NEW@example.com"),), "It works once"),
    Filled(
        "/account/absences",
        "Name delegate",
        (("Who is away", "AWAY"), ("Delegate", "approver@example.com"), ("Until", "SOON"), ("Note", "Holiday NEW")),
        "Holiday NEW",
    ),
    # agents, keys, connections
    Filled(
        "/agents/new",
        "Create agent and key",
        (("Name", "NEW"), ("Description", "reads invoices"), ("Owner", "ana@example.com")),
        "hg_",
    ),
    Filled("/settings/keys", "Create key", (("Name", "NEW"), ("audit:read", True)), "hg_"),
    Filled("/settings/credentials", "Set credential", (("Name", "NEW"), ("Value", "a long secret")), "NEW"),
    Filled(
        "/connections/new?platform=generic&way=key",
        "Connect",
        (("Name", "NEW"), ("Hosts", "NEW.example.com"), ("Secret", "a long secret")),
        "NEW.example.com",
    ),
    # policies
    Filled("/policies/content/new?template=pii_hold", "Save", (("Name", "NEW"), ("Threshold", "0.7")), "NEW"),
    Filled("/settings/models", "Add provider", (("Name", "NEW"), ("API key", "sk-a-long-secret")), "NEW"),
    Filled(
        "/settings/destinations",
        "Add destination",
        (("Host", "NEW.example.com"), ("Ports", "443, 8443"), ("Note", "the ERP")),
        "NEW.example.com",
    ),
    Filled("/settings/destinations", "Add tool", (("Tool", "tool_NEW"),), "tool_NEW"),
    Filled(
        "/settings/destinations",
        "Save document",
        (
            (
                "Document",
                '{"destinations": [{"host": "127.0.0.0/8", "private": true}, {"host": "json.NEW.example.com"}]}',
            ),
        ),
        "json.NEW.example.com",
    ),
    # traffic and record
    Filled("/settings/captures", "Add rule", (("Hosts", "NEW.example.com"),), "NEW.example.com"),
    Filled("/settings/captures", "Save limit", (("Body limit bytes", "65536"),)),
    Filled("/settings/retention", "Save retention", (("Drop captured traffic after", "400"),)),
    Filled(
        "/settings/retention",
        "Review erasure",
        (("Calls", "{captured_action_id}"), ("Reason", "asked NEW")),
        "asked NEW",
    ),
    Filled(
        "/audit/holds",
        "Place hold",
        (("Scope", "All calls"), ("Agent or call", "{agent_id}"), ("Reason", "case NEW")),
        "case NEW",
    ),
    Filled("/audit/checkpoints", "Verify", (), "Verif"),
    Filled("/reports", "Create report", (("Format", "CSV"),), "CSV"),
    # what is told to others
    Filled(
        "/settings/webhooks",
        "Add endpoint",
        (("Address", "https://NEW.example.com/hooks"), ("Description", "NEW")),
        "NEW.example.com",
    ),
    Filled("/settings/webhooks/{webhook_id}", "Send test", (), "Deliveries"),
    Filled(
        "/settings/notifications/channels/new?kind=slack",
        "Add channel",
        (
            ("Name", "NEW"),
            ("Channel", "C0123456789"),
            ("Token", "xoxb-not-a-token"),
            ("Signing secret", "not a secret"),
        ),
        "NEW",
    ),
    Filled("/settings/notifications/rules/new", "Add rule", (("on-call", True), ("Tools", "NEW")), "NEW"),
    Filled("/settings/siem", "Add destination", (("Name", "NEW"), ("Address", "https://NEW.example.com/")), "NEW"),
    Filled("/settings/executions", "Save limits", (("Timeout seconds", "31"),)),
    Filled("/settings/integrations/slack", "Save Slack", (("Channel", "C0123456789"),)),
)


@pytest.fixture(scope="package")
def approver(signed_in: Callable[[Role | None], StorageState | None]) -> None:
    """Somebody to delegate to."""
    signed_in(Role.APPROVER)


def _id(form: Filled) -> str:
    return f"{form.path.split('?')[0]} {form.button}"


def _form(page: Page, button: str) -> Locator:
    return page.locator("main form").filter(has=_button(page, button)).last


def _button(within: Page | Locator, name: str) -> Locator:
    """Hidden too: a form to add another one of a kind may be closed."""
    return within.get_by_role("button", name=name, exact=True, include_hidden=True)


def _closed(form: Locator) -> list[Locator]:
    """What opens it."""
    return form.locator("xpath=ancestor::details[not(@open)]/summary").all()


def _field(form: Locator, label: str) -> Locator:
    """By the beginning of its label: a hint behind it may name other fields."""
    return form.get_by_label(re.compile(rf"^\s*{re.escape(label)}")).first


def _tab_to(page: Page, wanted: Locator) -> None:
    for _ in range(_TABS_MAX):
        page.keyboard.press("Tab")
        if wanted.evaluate(_HAS_FOCUS):
            return
    raise AssertionError(f"Tab does not reach {wanted}")


@pytest.mark.parametrize("form", FORMS, ids=_id)
def test_by_keyboard(open_window: OpenWindow, world: World, approver: None, form: Filled) -> None:
    page = open_window().open(form.path.format_map(world.names))
    fields = _form(page, form.button)
    for summary in _closed(fields):
        _tab_to(page, summary)
        page.keyboard.press("Enter")
    for label, value in form.typed:
        field = _field(fields, label)
        _tab_to(page, field)
        if value is True:
            page.keyboard.press("Space")
            continue
        text = _text(value, "keys", world)
        if field.get_attribute("type") == "datetime-local":
            at = datetime.fromisoformat(text)
            page.keyboard.type(f"{at:%m%d%Y}")
            page.keyboard.press("Tab")
            text = f"{at:%I%M%p}"
        elif field.evaluate("(one) => one.matches('textarea, input')"):
            page.keyboard.press("Control+a")
        page.keyboard.type(text)
    _tab_to(page, _button(fields, form.button))
    with page.expect_navigation():
        page.keyboard.press("Enter")
    _expect(page, form, "keys", world)


@pytest.mark.parametrize("form", FORMS, ids=_id)
def test_on_a_phone_without_script(open_window: OpenWindow, world: World, approver: None, form: Filled) -> None:
    page = open_window(look=PHONE, script=False).open(form.path.format_map(world.names))
    fields = _form(page, form.button)
    for summary in _closed(fields):
        summary.click()
    for label, value in form.typed:
        field = _field(fields, label)
        if value is True:
            field.check()
        elif field.evaluate("(one) => one.matches('select')"):
            field.select_option(_option(field, _text(value, "hand", world)))
        else:
            field.fill(_text(value, "hand", world))
    _button(fields, form.button).click()
    _expect(page, form, "hand", world)


def _expect(page: Page, form: Filled, word: str, world: World) -> None:
    if not form.shown:
        label, value = form.typed[-1]
        page.goto(page.url)
        expect(_field(_form(page, form.button), label)).to_have_value(_text(value, word, world))
        return
    expect(page.locator("main")).to_contain_text(_text(form.shown, word, world))
    assert page.get_by_role("alert").all_inner_texts() == []


def _text(value: str | bool, word: str, world: World) -> str:
    soon = datetime.now(UTC) + timedelta(days=7)
    words = {"NEW": word, "SOON": f"{soon:%Y-%m-%dT%H:%M}", "AWAY": _AWAY[word]}
    text = re.sub("|".join(words), lambda found: words[found[0]], str(value))
    return text.format_map(world.names) if text.startswith("{") and text.endswith("_id}") else text


def _option(field: Locator, begins: str) -> str:
    """What somebody gets who types this at the list."""
    found = [one for one in field.locator("option").all_inner_texts() if one.lower().startswith(begins.lower())]
    assert found, f"no choice begins with {begins!r}"
    return found[0]
