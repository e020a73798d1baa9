"""The settings' document: what is kept, what is secret, what is refused."""

import pytest

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.notifications.model import NOTHING_SET
from headgate.notifications.parse import parse_notifications, parse_stored

_MAIL: JsonObject = {"kind": "apprise", "url": "mailtos://user:hunter2@example.com?to=ada@example.com"}
_SLACK: JsonObject = {"kind": "slack", "channel": "C0123", "token": "xoxb-1", "signing_secret": "5ecret"}


def test_what_is_stored_holds_no_secret_and_reads_back_the_same() -> None:
    route: JsonObject = {
        "channels": ["mail"],
        "events": ["approval.requested"],
        "between": {"from": "08:00", "until": "18:00", "days": ["mon"], "time_zone": "Europe/Berlin"},
    }
    document: JsonObject = {
        "channels": {"mail": {**_MAIL, "recipient": "ada@example.com"}, "chat": _SLACK},
        "routes": [route],
        "digest": {"window_seconds": 60, "most_single": 3},
        "link_seconds": 600,
        "people": {"slack:U0123": "usr_1"},
    }
    draft = parse_notifications(document, NOTHING_SET, lambda: "con_1")
    stored = draft.settings.record()
    assert parse_stored(stored) == draft.settings
    for secret in ("hunter2", "xoxb-1", "5ecret"):
        assert secret not in str(stored)
    assert draft.secrets["mail", "url"].reveal() == _MAIL["url"]
    assert draft.settings.channels["mail"].service == "mailtos"
    assert draft.settings.channels["chat"].connection_id == "con_1"


def test_what_is_shown_may_be_given_back_and_secrets_stay() -> None:
    first = parse_notifications({"channels": {"mail": _MAIL, "chat": _SLACK}}, NOTHING_SET, lambda: "con_1").settings
    again = parse_notifications(first.record(), first, lambda: "con_2")
    assert (again.settings, again.secrets) == (first, {})


def test_a_token_is_not_sent_to_another_address_than_it_was_given_for() -> None:
    first = parse_notifications({"channels": {"chat": _SLACK}}, NOTHING_SET, lambda: "con_1").settings
    moved: JsonObject = {"kind": "slack", "channel": "C0123", "api_url": "https://elsewhere.example/api"}
    with pytest.raises(ValidationError, match="give the token again"):
        parse_notifications({"channels": {"chat": moved}}, first, lambda: "con_2")


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "notifications"),
        ({"chanels": {}}, "chanels"),
        ({"channels": {"Upper": _MAIL}}, "channels.Upper"),
        ({"channels": {"nobody": _MAIL}}, "channels.nobody"),
        ({"channels": {"a": {"kind": "pigeon"}}}, "channels.a.kind"),
        ({"channels": {"a": {"kind": "apprise"}}}, "channels.a.url"),
        ({"channels": {"a": {**_MAIL, "enabled": "yes"}}}, "channels.a.enabled"),
        ({"channels": {"a": {**_SLACK, "channel": "#general"}}}, "channels.a.channel"),
        ({"channels": {"a": {**_SLACK, "api_url": "ftp://x"}}}, "url"),
        ({"channels": {"a": _MAIL}, "routes": [{"channels": ["b"]}]}, "routes[0].channels"),
        ({"channels": {"a": _MAIL}, "routes": [{"channels": []}]}, "routes[0].channels"),
        ({"channels": {"a": _MAIL}, "routes": [{"channels": ["a"], "events": ["x"]}]}, "routes[0].events"),
        ({"channels": {"a": _MAIL}, "routes": [{"channels": ["a"], "risk_levels": ["x"]}]}, "routes[0].risk_levels"),
        (
            {"channels": {"a": _MAIL}, "routes": [{"channels": ["a"], "between": {"from": "8", "until": "9"}}]},
            "routes[0].between.from",
        ),
        (
            {
                "channels": {"a": _MAIL},
                "routes": [{"channels": ["a"], "between": {"from": "08:00", "until": "09:00", "time_zone": "../etc"}}],
            },
            "routes[0].between.time_zone",
        ),
        ({"digest": {"window_seconds": 1}}, "digest.window_seconds"),
        ({"link_seconds": 10**6}, "link_seconds"),
        ({"people": {"discord:1": "usr_1"}}, "people.discord:1"),
    ],
)
def test_refused_by_name(document: JsonValue, field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_notifications(document, NOTHING_SET, lambda: "con_1")
    assert refused.value.details is not None
    assert refused.value.details["field"] == field


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "exec://reboot",
        "syslog://",
        "dbus://",
        "json://example.com/",
        "apprise://example.com/config",
        "slack://token/?template=/etc/passwd",
        "mailto://u:p@example.com?pgp=yes",
        "mailto://u:p@example.com?attach=/etc/passwd",
        "ntfys://example.com/topic?verify=no",
        "ntfys://example.com/topic?to=x;verify=no",
        "ntfys://example.com/topic#x?verify=no",
        "ntfys://example.com/topic?to=x?verify=no",
        "mailto://u:p@example.com?to=a@example.com;template=/etc/passwd",
        "mailto://u:p@example.com?to=a@example.com;+X-Header=1",
        "ntfys://example.com/topic?+X-Header=1",
        "ntfy://example.com:22/topic",
        "ntfy://example.com:99999/topic",
    ],
)
def test_services_and_options_that_reach_too_far_are_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_notifications({"channels": {"a": {"kind": "apprise", "url": url}}}, NOTHING_SET, lambda: "con_1")
    assert refused.value.details is not None
    assert refused.value.details["field"] == "channels.a.url"
    assert "/etc/passwd" not in refused.value.message
