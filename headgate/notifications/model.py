"""Notification settings: events, channels and times. Frozen types; ``parse`` makes them, ``routing`` decides."""

from datetime import time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue

LINK_SECONDS: Final = 3600
UNROUTED: Final = "nobody"
"""The target of a message that matched no channel, so that it stays visible. No channel may have this name."""

NOTIFIED_EVENTS: Final = (
    "approval.requested",
    "approval.reminded",
    "approval.escalated",
    "approval.approved",
    "approval.denied",
    "approval.expired",
    "execution.failed",
    "webhook.disabled",
    "connection.broken",
    "break_glass.opened",
    "break_glass.used",
    "policy.quarantined",
    "mcp_tool.changed",
    "mfa.locked",
    "mfa_code.used",
    "canary.found",
    "journal_entry.missed",
)
"""The audit log's events that a route may name."""
DEFAULT_EVENTS: Final = frozenset(
    {
        "approval.requested",
        "approval.reminded",
        "approval.escalated",
        "webhook.disabled",
        "connection.broken",
        "break_glass.opened",
        "break_glass.used",
        "mfa.locked",
        "canary.found",
        "journal_entry.missed",
    }
)
"""The events of a route without ``events``: those that need a person's action."""
OUTCOMES: Final = frozenset({"approval.approved", "approval.denied", "approval.expired", "approval.superseded"})
"""Events that end an earlier message's request; an updatable message is updated."""


class ChannelKind(StrEnum):
    APPRISE = "apprise"
    SLACK = "slack"


class Channel(Struct, frozen=True):
    """``recipient``: the one person (e-mail or user id) whose right to vote the channel's links give.

    ``service``: Apprise's service, for an Apprise channel. ``place``: Slack's channel; ``connection_id`` is part of the
    address that receives Slack's button events.
    """

    name: str
    kind: ChannelKind
    enabled: bool
    recipient: str | None = None
    service: str | None = None
    place: str | None = None
    api_url: str | None = None
    connection_id: str | None = None

    def record(self) -> JsonObject:
        """The stored and shown form, without secrets."""
        members: JsonObject = {"kind": self.kind.value, "enabled": self.enabled}
        if self.kind is ChannelKind.SLACK:
            members |= {"channel": self.place, "api_url": self.api_url, "connection_id": self.connection_id}
        else:
            members |= {"service": self.service, "recipient": self.recipient}
        return members


class Hours(Struct, frozen=True):
    """From ``start`` until before ``end`` in this time zone; past midnight if the end is earlier."""

    start: time
    end: time
    days: frozenset[int]
    zone: ZoneInfo

    def record(self) -> JsonObject:
        return {
            "from": self.start.strftime("%H:%M"),
            "until": self.end.strftime("%H:%M"),
            "days": list[JsonValue](DAYS[day] for day in sorted(self.days)),
            "time_zone": self.zone.key,
        }


DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Route(Struct, frozen=True):
    """Which events go to which channels. All conditions must hold; an empty one always holds. ``tools`` may use
    ``*``."""

    channels: tuple[str, ...]
    events: tuple[str, ...] = ()
    risk_levels: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    hours: Hours | None = None

    def record(self) -> JsonObject:
        members: JsonObject = {"channels": list[JsonValue](self.channels)}
        for name in ("events", "risk_levels", "tools", "agents", "assignees"):
            if values := getattr(self, name):
                members[name] = list[JsonValue](values)
        if self.hours is not None:
            members["between"] = self.hours.record()
        return members


class Digest(Struct, frozen=True):
    """If a channel would get more than ``most_single`` messages in ``window``, one digest at its end replaces the
    rest."""

    window: timedelta = timedelta(minutes=5)
    most_single: int = 10


class NotificationSettings(Struct, frozen=True):
    """``people``: manual links of chat accounts (``slack:U0123``) to users, for accounts without a matching e-mail
    address."""

    channels: dict[str, Channel]
    routes: tuple[Route, ...]
    digest: Digest
    link_seconds: int
    people: dict[str, str]

    def record(self) -> JsonObject:
        return {
            "channels": {name: one.record() for name, one in self.channels.items()},
            "routes": list[JsonValue](one.record() for one in self.routes),
            "digest": {
                "window_seconds": int(self.digest.window.total_seconds()),
                "most_single": self.digest.most_single,
            },
            "link_seconds": self.link_seconds,
            "people": dict[str, JsonValue](self.people),
        }


NOTHING_SET: Final = NotificationSettings({}, (), Digest(), LINK_SECONDS, {})
