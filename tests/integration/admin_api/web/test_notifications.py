"""/settings/notifications: channels, rules, limits, messages. A secret never comes back, nor does a stale page win."""

import html
import re

import pytest

from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_PATH = "/settings/notifications"
_NEW = f"{_PATH}/channels/new"
_MAIL = {
    "act": "save",
    "kind": "apprise",
    "name": "on-call",
    "enabled": "true",
    "url": "ntfys://user:stays-secret@nowhere.invalid/topic",
    "recipient": "alice@example.com",
}
_SLACK = {
    "act": "save",
    "kind": "slack",
    "name": "security",
    "enabled": "true",
    "channel": "C0123456789",
    "token": "xoxb-stays-secret",
    "signing_secret": "stays-secret-too",
}


async def _kept(person) -> dict:
    return (await person.get("/admin/settings/notifications")).json()


async def test_the_first_channel_is_added_tested_and_removed(gate) -> None:
    person = gate.person()
    assert "No channels yet." in (await person.get(_PATH)).text
    assert (await person.post(_NEW, data=_MAIL)).headers["location"] == _PATH
    kept = (await _kept(person))["channels"]["on-call"]
    assert (kept["recipient"], kept["has_url"]) == ("alice@example.com", True)
    for path in (_PATH, f"{_PATH}/channels/on-call"):
        assert "stays-secret" not in (await person.get(path)).text
    sent = await person.post(_PATH, data={"act": "test", "channel": "on-call"})
    assert re.fullmatch(rf"{_PATH}/messages/dlv_[0-9a-f-]+", sent.headers["location"])
    assert "notification.test" in (await person.get(sent.headers["location"])).text
    assert sent.headers["location"] in (await person.get(f"{_PATH}/messages?channel=on-call")).text
    assert "All messages reached a channel" in (await person.get(f"{_PATH}/messages?channel=nobody")).text
    change = {"act": "save", "kind": "apprise", "version": "1", "url": "", "recipient": ""}
    assert (await person.post(f"{_PATH}/channels/on-call", data=change)).status_code == 303
    kept = (await _kept(person))["channels"]["on-call"]
    assert (kept["enabled"], kept["recipient"], kept["has_url"]) == (False, None, True)
    stale = await person.post(f"{_PATH}/channels/on-call", data=change)
    assert (stale.status_code, 'role="alert"' in stale.text) == (412, True)
    gone = {"act": "delete", "version": "2"}
    assert (await person.post(f"{_PATH}/channels/on-call", data=gone)).status_code == 303
    assert (await _kept(person))["channels"] == {}
    assert (await person.get(f"{_PATH}/channels/on-call")).status_code == 404


async def test_slack_says_what_to_enter_there(gate) -> None:
    person = gate.person()
    assert (await person.post(_NEW, data=_SLACK)).status_code == 303
    shown = (await person.get(f"{_PATH}/channels/security")).text
    assert (await _kept(person))["channels"]["security"]["interactivity_path"] in shown
    assert "stays-secret" not in shown
    assert "Version 1" in (await person.get(_PATH)).text


async def test_rules_are_added_changed_and_removed(gate) -> None:
    person = gate.person()
    assert "Add a channel first" in (await person.get(f"{_PATH}/rules/new")).text
    await person.post(_NEW, data=_MAIL)
    await person.post(_NEW, data=_SLACK | {"version": "1"})
    rule = {
        "act": "save",
        "version": "2",
        "channels": ["on-call", "security"],
        "risk_levels": ["high"],
        "tools": "git*\r\n<script>",
        "from": "18:00",
        "until": "08:00",
        "time_zone": "Europe/Berlin",
    }
    assert (await person.post(f"{_PATH}/rules/new", data=rule)).status_code == 303
    (kept,) = (await _kept(person))["routes"]
    assert (kept["tools"], kept["risk_levels"], kept["between"]["time_zone"]) == (
        ["git*", "<script>"],
        ["high"],
        "Europe/Berlin",
    )
    listed = (await person.get(_PATH)).text
    assert "08:00 Europe/Berlin" in listed and "&lt;script&gt;" in listed
    assert "<script>\n" not in (await person.get(f"{_PATH}/rules/1")).text
    assert (await person.get(f"{_PATH}/rules/00000100")).status_code == 404
    changed = {"act": "save", "version": "3", "channels": ["security"], "events": ["approval.denied"]}
    assert (await person.post(f"{_PATH}/rules/1", data=changed)).status_code == 303
    assert (await _kept(person))["routes"] == [{"channels": ["security"], "events": ["approval.denied"]}]
    # The last channel of a rule takes the rule with it.
    assert (await person.post(f"{_PATH}/channels/security", data={"act": "delete", "version": "4"})).status_code == 303
    assert (await _kept(person))["routes"] == []
    for number in ("1", "0", "-1", "x", "9" * 5_000):
        assert (await person.get(f"{_PATH}/rules/{number}")).status_code in (404, 414), number[:9]
        assert (await person.post(f"{_PATH}/rules/{number[:99]}", data={"act": "delete"})).status_code == 404


async def test_limits_are_saved(gate) -> None:
    person = gate.person()
    form = {"act": "limits", "window_seconds": "60", "most_single": "5", "link_seconds": "600", "people": ""}
    assert (await person.post(_PATH, data=form)).status_code == 303
    kept = await _kept(person)
    assert (kept["digest"], kept["link_seconds"]) == ({"window_seconds": 60, "most_single": 5}, 600)
    refused = await person.post(_PATH, data=form | {"most_single": "none"})
    assert (refused.status_code, "expected a whole number" in refused.text) == (400, True)


@pytest.mark.parametrize(
    ("path", "form", "said"),
    [
        (_NEW, _MAIL | {"name": "On Call"}, "a name is lower case"),
        (_NEW, _MAIL | {"url": "file:///etc/passwd"}, "url"),
        (_NEW, _MAIL | {"url": ""}, "it is needed"),
        (_NEW, _SLACK | {"channel": "#security"}, "channel"),
        (_PATH, {"act": "dance"}, "Unknown action"),
    ],
)
async def test_a_refused_form_says_why_and_gives_no_secret_back(gate, path, form, said) -> None:
    answer = await gate.person().post(path, data=form)
    assert answer.status_code == 400
    assert said in html.unescape(answer.text)
    assert "stays-secret" not in answer.text


async def test_unknown_messages_and_channels_are_not_there(gate, new_gate) -> None:
    person = gate.person()
    await person.post(_NEW, data=_MAIL)
    sent = (await person.post(_PATH, data={"act": "test", "channel": "on-call"})).headers["location"]
    assert (await person.post(sent)).status_code == 409  # it waits already
    stranger = (await new_gate()).person()
    for path in (sent, f"{_PATH}/messages/{new_id(IdPrefix.DELIVERY)}", f"{_PATH}/channels/on-call"):
        assert (await stranger.get(path)).status_code == 404
        assert (await stranger.post(path, data={"act": "delete"})).status_code == 404
    assert (await stranger.post(_PATH, data={"act": "test", "channel": "on-call"})).status_code == 404


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER])
async def test_only_administrators_see_notifications(gate, role: Role) -> None:
    person = gate.person(role.value, role)
    for path in (_PATH, _NEW, f"{_PATH}/rules/new", f"{_PATH}/messages"):
        assert (await person.get(path)).status_code == 403
    for path in (_PATH, _NEW, f"{_PATH}/rules/new"):
        assert (await person.post(path, data=_MAIL)).status_code == 403
