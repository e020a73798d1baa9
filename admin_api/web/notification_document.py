"""The document of the notification settings, as the pages about its channels and rules change it: a part each, and only
where it still is the version that was shown."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from admin_api.notifications.settings_routes import get_notifications, set_notifications
from admin_api.web.api import Api, document_in
from admin_api.web.form import Form
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.notifications.model import ChannelKind

NOTIFICATIONS_PATH: Final = "/settings/notifications"
_WRITTEN: Final = {
    ChannelKind.APPRISE: ("kind", "enabled", "recipient"),
    ChannelKind.SLACK: ("kind", "enabled", "channel", "api_url"),
}


class NotificationDocument(Struct, frozen=True):
    """``channels`` are as they are shown: without secrets, with ``has_…`` for each."""

    channels: dict[str, JsonObject]
    routes: list[JsonObject]
    document: JsonObject
    version: str


async def load_notifications(api: Api) -> NotificationDocument:
    answer = await api.call(get_notifications, api.request)
    document = document_in(answer)
    channels, routes = document["channels"], document["routes"]
    return NotificationDocument(
        {name: one for name, one in channels.items() if isinstance(one, dict)} if isinstance(channels, dict) else {},
        [one for one in routes if isinstance(one, dict)] if isinstance(routes, list) else [],
        document,
        answer.headers["etag"].strip('"'),
    )


async def change_notifications(api: Api, form: Form, change: Callable[[NotificationDocument], None]) -> None:
    """``change`` alters the document in place. Raises what the route raises; PreconditionFailedError: somebody has
    changed it since it was shown."""
    now = await load_notifications(api)
    change(now)
    kept = {name: one for name, one in now.document.items() if name not in ("warnings", "channels", "routes")}
    channels: JsonObject = {name: _written(one) for name, one in now.channels.items()}
    document: JsonObject = {**kept, "channels": channels, "routes": list[JsonValue](now.routes)}
    shown = form.text("version")
    await api.call(set_notifications, api.sending(document), None if shown in ("", "0") else f'"{shown}"')


def _written(channel: JsonObject) -> JsonObject:
    """What is sent of a channel: no more than a PUT may hold, and secrets only where they were just entered."""
    kind = ChannelKind(str(channel["kind"]))
    secrets = ("url", "token", "signing_secret")
    return {
        name: value
        for name, value in channel.items()
        if (name in _WRITTEN[kind] or name in secrets) and value is not None
    }
