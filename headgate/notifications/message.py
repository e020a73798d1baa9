"""Builds the text of a message from a delivery's payload. Hidden characters in others' text are made visible."""

import re
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.visible_text import visible

_TITLES: Final = {
    "approval.requested": "Approval needed",
    "approval.reminded": "Still waiting for approval",
    "approval.escalated": "Escalated: approval needed",
    "approval.approved": "Approved",
    "approval.denied": "Denied",
    "approval.expired": "Expired without a decision",
    "approval.superseded": "Replaced by a request that asks for more",
    "execution.failed": "An execution failed",
    "webhook.disabled": "A webhook endpoint was disabled",
    "connection.broken": "A connection does not work any more",
    "break_glass.opened": "Break-glass was opened",
    "break_glass.used": "Break-glass was used",
    "policy.quarantined": "A policy was quarantined",
    "mcp_tool.changed": "An MCP tool is not what was accepted",
    "mfa.locked": "Somebody was locked out: too many wrong codes",
    "canary.found": "A call held a canary token",
    "journal_entry.missed": "Entries of the record are missing",
    "mfa_code.used": "A recovery code was used",
    "notification.test": "Headgate can reach this channel",
}
_LISTED: Final = 20
_MENTION: Final = re.compile(r"(?<!\w)@(?=\w)|@(?=(?:everyone|here|channel|all|room)\b)")
_ANGLE: Final = re.compile(r"<(?=\S)")
"""The start of Slack's links and mentions, <!channel> and <https://…|Open>, which Mattermost and Rocket.Chat also
read; and Discord's mentions, <@&role>."""


class Message(Struct, frozen=True):
    """``facts``: name and value, in order; ``link`` comes last in the text."""

    title: str
    facts: tuple[tuple[str, str], ...]
    link: str | None = None

    @property
    def text(self) -> str:
        """For services that interpret mark-up and mentions in any text: removes both from others' text."""
        # Services refuse a message without a body. A message with only a title, such as a test, repeats it as the
        # body.
        lines = [f"{name}: {_inert(value)}" for name, value in self.facts] or [self.title]
        return "\n".join(lines if self.link is None else [*lines, "", f"Open: {self.link}"])


def message_of(payload: JsonObject, link: str | None) -> Message:
    """Also builds a digest, whose payload lists other messages."""
    event = _text(payload, "event")
    if event == "digest":
        return _digest(payload)
    named = f"{_text(payload, 'tool')}.{_text(payload, 'operation')}" if payload.get("tool") else ""
    call = _text(payload, "call") or named
    risk = _text(payload, "risk_level")
    title = _TITLES.get(event, event)
    if call:
        title += f": {call}" + (f" ({risk} risk)" if risk else "")
    facts = [
        ("Agent", _text(payload, "agent_name") or _text(payload, "agent_id")),
        ("Call", call),
        ("Policy", _text(payload, "policy")),
        ("Tool", _text(payload, "mcp_tool")),
        ("Why", _text(payload, "reason")),
        ("By", _text(payload, "by")),
        ("Endpoint", _text(payload, "url")),
        ("Owner", _text(payload, "owner")),
        ("Approvals", _approvals(payload)),
        (
            "Answer until",
            _text(payload, "expires_at")[:16].replace("T", " ") + " UTC" if payload.get("expires_at") else "",
        ),
        ("Id", _text(payload, "approval_id")),
    ]
    return Message(title, tuple((name, value) for name, value in facts if value), link)


def _inert(text: str) -> str:
    return _ANGLE.sub("< ", _MENTION.sub("@ ", text)).replace("](", "] (")


def _digest(payload: JsonObject) -> Message:
    items = payload.get("items")
    entries = [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []
    facts = [(f"{index}", _line(one)) for index, one in enumerate(entries[:_LISTED], start=1)]
    if len(entries) > _LISTED:
        facts.append(("And", f"{len(entries) - _LISTED} more: headgate approvals list"))
    return Message(f"{len(entries)} more messages from Headgate", tuple(facts))


def _line(item: JsonObject) -> str:
    message = message_of(item, None)
    approval_id = _text(item, "approval_id")
    return message.title + (f", {approval_id}" if approval_id else "")


def _approvals(payload: JsonObject) -> str:
    needed = payload.get("required_approvals")
    return f"{needed} needed" if isinstance(needed, int) and needed > 1 else ""


def _text(payload: JsonObject, name: str) -> str:
    value: JsonValue = payload.get(name)
    return visible(str(value)) if isinstance(value, str | int) else ""
