"""The document of ``PUT /admin/settings/notifications``, read once. Raises ValidationError, which names the member.

::

    {"channels": {"on-call": {"kind": "apprise", "url": "mailtos://…", "recipient": "ada@example.com"},
                  "security": {"kind": "slack", "channel": "C0123", "token": "xoxb-…", "signing_secret": "…"}},
     "routes": [{"channels": ["on-call"], "risk_levels": ["high", "critical"], "tools": ["git*"],
                 "between": {"from": "08:00", "until": "18:00", "days": ["mon", "tue"], "time_zone": "Europe/Berlin"}}],
     "digest": {"window_seconds": 300, "most_single": 10}, "link_seconds": 3600, "people": {"slack:U0123": "usr_…"}}
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.secrets import Secret
from headgate.notifications.members import MOST, fault, list_of, object_of, text_of, whole_of
from headgate.notifications.model import (
    LINK_SECONDS,
    UNROUTED,
    Channel,
    ChannelKind,
    Digest,
    NotificationSettings,
)
from headgate.notifications.parse_route import parse_route
from headgate.notifications.services import service_of
from headgate.outgoing.target import parse_target

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PLACE: Final = re.compile(r"[A-Z0-9]{2,32}")
_PERSON: Final = re.compile(r"slack:[A-Z0-9]{2,32}")
_SECRETS: Final = {ChannelKind.APPRISE: ("url",), ChannelKind.SLACK: ("token", "signing_secret")}
_MEMBERS: Final = {
    ChannelKind.APPRISE: frozenset({"kind", "enabled", "recipient", "service", "url"}),
    ChannelKind.SLACK: frozenset({"kind", "enabled", "channel", "api_url", "connection_id", "token", "signing_secret"}),
}
_SLACK_API: Final = "https://slack.com/api"


class NotificationDraft(Struct, frozen=True):
    """``secrets``: those submitted, by (channel, member). Omitted secrets stay unchanged."""

    settings: NotificationSettings
    secrets: dict[tuple[str, str], Secret]


def secrets_of(kind: ChannelKind) -> tuple[str, ...]:
    """The write-only members of a channel of this kind."""
    return _SECRETS[kind]


def parse_stored(document: JsonValue) -> NotificationSettings:
    """Reads what ``NotificationSettings.record`` wrote."""
    return _parsed(document, None, str, {})


def parse_notifications(
    document: JsonValue, known: NotificationSettings, new_connection: Callable[[], str]
) -> NotificationDraft:
    """``known``: the previous settings. Services and connections stay unless they are submitted."""
    secrets: dict[tuple[str, str], Secret] = {}
    return NotificationDraft(_parsed(document, known, new_connection, secrets), secrets)


def _parsed(
    document: JsonValue,
    known: NotificationSettings | None,
    new_connection: Callable[[], str],
    secrets: dict[tuple[str, str], Secret],
) -> NotificationSettings:
    members = object_of("", document, {"channels", "routes", "digest", "link_seconds", "people"})
    channels: dict[str, Channel] = {}
    entries = object_of("channels", members.get("channels", {}), None)
    for name, entry in entries.items():
        if _NAME.fullmatch(name) is None or name == UNROUTED or len(entries) > MOST:
            raise fault(f"channels.{name[:64]}", f"a name is lower case letters, digits, _ and -; at most {MOST}")
        if known is None:
            channels[name] = _stored_channel(name, object_of(f"channels.{name}", entry, None))
        else:
            channels[name] = _channel(name, entry, known.channels.get(name), secrets, new_connection)
    return NotificationSettings(
        channels,
        tuple(
            parse_route(f"routes[{i}]", one, channels)
            for i, one in enumerate(list_of("routes", members.get("routes", [])))
        ),
        _digest(members.get("digest", {})),
        whole_of("link_seconds", members.get("link_seconds", LINK_SECONDS), 60, 24 * 3600),
        _people(members.get("people", {})),
    )


def _stored_channel(name: str, entry: JsonObject) -> Channel:
    def text(member: str) -> str | None:
        value = entry.get(member)
        return value if isinstance(value, str) else None

    return Channel(
        name,
        ChannelKind(str(entry["kind"])),
        entry["enabled"] is True,
        recipient=text("recipient"),
        service=text("service"),
        place=text("channel"),
        api_url=text("api_url"),
        connection_id=text("connection_id"),
    )


def _channel(
    name: str,
    entry: JsonValue,
    known: Channel | None,
    secrets: dict[tuple[str, str], Secret],
    new_connection: Callable[[], str],
) -> Channel:
    where = f"channels.{name}"
    kinds = [kind.value for kind in ChannelKind]
    if not isinstance(entry, dict) or entry.get("kind") not in kinds:
        raise fault(f"{where}.kind", f"one of {', '.join(kinds)}")
    kind = ChannelKind(str(entry["kind"]))
    object_of(where, entry, _MEMBERS[kind])
    enabled = entry.get("enabled", True)
    if not isinstance(enabled, bool):
        raise fault(f"{where}.enabled", "true or false")
    same = known if known is not None and known.kind is kind else None
    for member in _SECRETS[kind]:
        if member in entry:
            secrets[name, member] = Secret(text_of(f"{where}.{member}", entry[member], 4096))
        elif same is None:
            raise fault(f"{where}.{member}", "it is needed for a new channel")
    if kind is ChannelKind.SLACK:
        place = text_of(f"{where}.channel", entry.get("channel"), 32)
        if _PLACE.fullmatch(place) is None:
            raise fault(f"{where}.channel", "the id of a channel, as in C0123456789: Slack shows it in its details")
        api_url = text_of(f"{where}.api_url", entry.get("api_url") or _SLACK_API, 200).rstrip("/")
        parse_target(api_url)
        if same is not None and same.api_url != api_url and (name, "token") not in secrets:
            raise fault(f"{where}.token", "the address has changed: give the token again")
        connection_id = same.connection_id if same is not None else None
        return Channel(
            name, kind, enabled, place=place, api_url=api_url, connection_id=connection_id or new_connection()
        )
    given = secrets.get((name, "url"))
    service = (
        service_of(given.reveal(), f"{where}.url") if given is not None else None if same is None else same.service
    )
    recipient = entry.get("recipient")
    if recipient is not None:
        recipient = text_of(f"{where}.recipient", recipient, 320)
    return Channel(name, kind, enabled, recipient=recipient, service=service)


def _digest(value: JsonValue) -> Digest:
    members = object_of("digest", value, {"window_seconds", "most_single"})
    standard = Digest()
    window = members.get("window_seconds", int(standard.window.total_seconds()))
    return Digest(
        timedelta(seconds=whole_of("digest.window_seconds", window, 10, 24 * 3600)),
        whole_of("digest.most_single", members.get("most_single", standard.most_single), 1, 1000),
    )


def _people(value: JsonValue) -> dict[str, str]:
    people = object_of("people", value, None)
    for account, user in people.items():
        if _PERSON.fullmatch(account) is None or not isinstance(user, str) or not user.startswith("usr_"):
            raise fault(f"people.{account[:64]}", 'an account and a user: "slack:U0123456789": "usr_…"')
    return {account: str(user) for account, user in people.items()}
