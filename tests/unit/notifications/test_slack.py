"""Slack's signatures, and what its interactions say."""

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest

from headgate.kernel.errors import UnauthorizedError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.notifications.message import Message, message_of
from headgate.notifications.slack import Interaction, Press, blocks, parse_interaction, verify

# The example of https://api.slack.com/authentication/verifying-requests-from-slack, step by step.
_SECRET = Secret("8f742231b10e8888abcd99yyyzzz85a5")
_AT = 1531420618
_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name="
    b"foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks."
    b"slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
    b"803a0bc887a14d10d2c447fce8b6703c"
)
_SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
_NOW = datetime.fromtimestamp(_AT, UTC)


def test_slacks_own_example_fits() -> None:
    verify(_SECRET, str(_AT), _SIGNATURE, _BODY, _NOW)


@pytest.mark.parametrize(
    ("timestamp", "signature", "body", "now"),
    [
        (str(_AT), _SIGNATURE, _BODY + b"x", _NOW),
        (str(_AT + 1), _SIGNATURE, _BODY, _NOW),
        (str(_AT), _SIGNATURE[:-1] + "4", _BODY, _NOW),
        (str(_AT), None, _BODY, _NOW),
        (None, _SIGNATURE, _BODY, _NOW),
        (str(_AT), "v0=\u00e9", _BODY, _NOW),
        ("١٥٣١٤٢٠٦١٨", _SIGNATURE, _BODY, _NOW),
        (str(_AT), _SIGNATURE, _BODY, _NOW + timedelta(minutes=5, seconds=1)),
        (str(_AT), _SIGNATURE, _BODY, _NOW - timedelta(minutes=5, seconds=1)),
    ],
)
def test_forged_and_replayed_requests_do_not(timestamp, signature, body: bytes, now: datetime) -> None:
    with pytest.raises(UnauthorizedError):
        verify(_SECRET, timestamp, signature, body, now)


def test_signed_with_another_secret() -> None:
    forged = "v0=" + hmac.new(b"other", f"v0:{_AT}:".encode() + _BODY, hashlib.sha256).hexdigest()
    with pytest.raises(UnauthorizedError):
        verify(_SECRET, str(_AT), forged, _BODY, _NOW)


def form(payload: object) -> bytes:
    return urlencode({"payload": json.dumps(payload)}).encode()


def test_what_was_pressed() -> None:
    payload = {
        "type": "block_actions", "user": {"id": "U1"}, "trigger_id": "t", "response_url": "https://hooks.slack.com/x",
        "actions": [{"action_id": "approve", "value": "apr_1"}],
    }  # fmt: skip
    assert parse_interaction(form(payload)) == Interaction(
        Press.APPROVE, "U1", "apr_1", None, "t", "https://hooks.slack.com/x"
    )
    submitted = {
        "type": "view_submission", "user": {"id": "U1"},
        "view": {"private_metadata": "apr_1", "state": {"values": {"reason": {"reason": {"value": "no"}}}}},
    }  # fmt: skip
    assert parse_interaction(form(submitted)) == Interaction(Press.SUBMIT_DENIAL, "U1", "apr_1", "no")


@pytest.mark.parametrize(
    "body", [b"", b"payload=", b"payload={", b"x=1", form([]), form({"type": "block_actions"}), b"payload=%ff", b"\xff"]
)
def test_what_is_no_interaction(body: bytes) -> None:
    with pytest.raises(ValidationError):
        parse_interaction(body)


def test_what_others_wrote_forms_no_mention_and_hides_nothing() -> None:
    message = message_of(
        {"event": "approval.requested", "tool": "mail", "operation": "send", "reason": "<!channel> \u202egnp.exe"}, None
    )
    shown = blocks(message, "apr_1")
    assert "mrkdwn" not in json.dumps(shown)
    assert "\u202e" not in json.dumps(shown, ensure_ascii=False)
    assert "\\u{202e}gnp.exe" in message.text


def test_services_without_plain_text_are_given_nothing_to_act_on() -> None:
    """Discord, Mattermost and others read marks in whatever they are sent, and Apprise passes plain text on to them."""
    reason = "ask ada@example.com @everyone a@here <@123> [Open](https://evil.example)\u3164\ufe0f"
    reason += " <@&9> <!channel> <https://evil.example|Open>, 1 < 2"
    message = message_of(
        {"event": "approval.requested", "tool": "mail", "operation": "send", "reason": reason}, "https://h/l"
    )
    assert "Why: ask ada@example.com @ everyone a@ here < @ 123> [Open] (https://evil.example)" in message.text
    assert " < @&9> < !channel> < https://evil.example|Open>, 1 < 2" in message.text
    assert "\\u{3164}\\u{fe0f}" in message.text
    assert message.text.endswith("Open: https://h/l")


def test_blocks_keep_slacks_limits() -> None:
    message = Message("T" * 400, tuple((f"N{index}", "v" * 4000) for index in range(23)), "https://example.com/l")
    shown = blocks(message, "apr_1")
    sections = [one for one in shown if isinstance(one, dict) and one["type"] == "section"]
    assert [len(one["fields"]) for one in sections] == [10, 10, 3]
    assert len(shown[0]["text"]["text"]) == 150
    assert all(len(field["text"]) <= 2000 for one in sections for field in one["fields"])
