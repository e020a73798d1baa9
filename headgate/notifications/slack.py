"""Slack messages with buttons, and the interactions that pressing one sends.

Sources: https://docs.slack.dev/authentication/verifying-requests-from-slack (signatures, five minutes),
https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update, …/views.open, …/users.info,
https://docs.slack.dev/interactivity/handling-user-interaction and https://docs.slack.dev/reference/block-kit. Texts are
``plain_text``, so agents' text cannot form mentions, links or mark-up.
"""

import hashlib
import hmac
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qs

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import UnauthorizedError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.notifications.message import Message

MAX_AGE: Final = timedelta(minutes=5)
_FIELD_CHARACTERS: Final = 500
_HEADER_CHARACTERS: Final = 150
REASON_MAX_CHARACTERS: Final = 500


class Press(StrEnum):
    """The interactions. ``SUBMIT_DENIAL`` carries the reason that a denial requires."""

    APPROVE = "approve"
    DENY = "deny"
    SUBMIT_DENIAL = "submit_denial"
    OTHER = "other"


class Interaction(Struct, frozen=True):
    """``user``: the Slack id of the person. ``response_url``: accepts a message that only that person sees."""

    press: Press
    user: str
    approval_id: str | None = None
    reason: str | None = None
    trigger_id: str | None = None
    response_url: str | None = None


def verify(secret: Secret, timestamp: str | None, signature: str | None, body: bytes, now: datetime) -> None:
    """Raises UnauthorizedError if the signature is wrong or older than five minutes."""
    if (
        timestamp is None
        or signature is None
        or not (timestamp.isascii() and timestamp.isdigit())
        or len(timestamp) > 12
    ):
        raise UnauthorizedError("Slack's signature is missing")
    if abs(now.timestamp() - int(timestamp)) > MAX_AGE.total_seconds():
        raise UnauthorizedError("Slack's signature is too old")
    signed = b"v0:" + timestamp.encode() + b":" + body
    expected = "v0=" + hmac.new(secret.reveal().encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        raise UnauthorizedError("Slack's signature does not fit")


def parse_interaction(body: bytes) -> Interaction:
    """Reads a form with one member, ``payload``. Raises ValidationError."""
    try:
        (text,) = parse_qs(body.decode(), strict_parsing=True, max_num_fields=4)["payload"]
        payload = parse_strict(text.encode())
    except (ValueError, KeyError) as error:
        raise ValidationError("not one of Slack's interactions") from error
    if not isinstance(payload, dict):
        raise ValidationError("not one of Slack's interactions")
    user = _text(_member(payload, "user"), "id")
    if user is None:
        raise ValidationError("an interaction without a user")
    if payload.get("type") == "view_submission":
        return _submitted(payload, user)
    actions = payload.get("actions")
    first = actions[0] if isinstance(actions, list) and actions else None
    action = first if isinstance(first, dict) else {}
    press = {"approve": Press.APPROVE, "deny": Press.DENY}.get(_text(action, "action_id") or "", Press.OTHER)
    if payload.get("type") != "block_actions":
        press = Press.OTHER
    return Interaction(
        press,
        user,
        approval_id=_text(action, "value"),
        trigger_id=_text(payload, "trigger_id"),
        response_url=_text(payload, "response_url"),
    )


def _submitted(payload: JsonObject, user: str) -> Interaction:
    view = _member(payload, "view")
    values = _member(_member(_member(view, "state"), "values"), "reason")
    reason = _text(_member(values, "reason"), "value")
    return Interaction(Press.SUBMIT_DENIAL, user, approval_id=_text(view, "private_metadata"), reason=reason)


def blocks(message: Message, approval_id: str | None, *, preformatted: str | None = None) -> list[JsonValue]:
    """``approval_id`` None: no buttons. ``preformatted``: shown verbatim, at most 3,000 characters."""
    shown: list[JsonValue] = [{"type": "header", "text": _plain(message.title, _HEADER_CHARACTERS)}]
    fields = [_plain(f"{name}: {value}", _FIELD_CHARACTERS) for name, value in message.facts]
    # Slack limits a section to ten fields.
    shown += [{"type": "section", "fields": list[JsonValue](fields[at : at + 10])} for at in range(0, len(fields), 10)]
    if preformatted is not None:
        run: JsonObject = {"type": "text", "text": preformatted}
        shown.append({"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [run]}]})
    elements: list[JsonValue] = []
    if approval_id is not None:
        elements += [
            _button("approve", "Approve", approval_id, "primary"),
            _button("deny", "Deny…", approval_id, "danger"),
        ]
    if message.link is not None:
        elements.append({"type": "button", "action_id": "open", "text": _plain("Open", 75), "url": message.link})
    if elements:
        shown.append({"type": "actions", "elements": elements})
    return shown


def denial_view(approval_id: str) -> JsonObject:
    """The dialog for the reason, which a denial requires."""
    return {
        "type": "modal",
        "callback_id": "deny",
        "private_metadata": approval_id,
        "title": _plain("Deny this action", 24),
        "submit": _plain("Deny", 24),
        "close": _plain("Back", 24),
        "blocks": [
            {
                "type": "input",
                "block_id": "reason",
                "label": _plain("Reason (the agent sees it)", 2000),
                "element": {
                    "type": "plain_text_input",
                    "action_id": "reason",
                    "multiline": True,
                    "max_length": REASON_MAX_CHARACTERS,
                },
            }
        ],
    }


def _button(action: str, text: str, value: str, style: str) -> JsonObject:
    return {"type": "button", "action_id": action, "text": _plain(text, 75), "value": value, "style": style}


def _plain(text: str, most: int) -> JsonObject:
    return {"type": "plain_text", "text": text if len(text) <= most else text[: most - 1] + "…", "emoji": False}


def _member(document: JsonObject, name: str) -> JsonObject:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _text(document: JsonObject, name: str) -> str | None:
    value = document.get(name)
    return value if isinstance(value, str) else None
