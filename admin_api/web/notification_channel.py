"""/settings/notifications/channels/{name}: edits one notification channel. ``new`` adds one."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, form_of, no_such_button
from admin_api.web.notification_document import (
    NOTIFICATIONS_PATH,
    NotificationDocument,
    change_notifications,
    load_notifications,
)
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError, HeadgateError, NotFoundError
from headgate.notifications.model import ChannelKind

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ENABLED: Final[JsonObject] = {"type": "boolean", "description": "Headgate sends messages to this channel."}
_SCHEMAS: Final[dict[ChannelKind, JsonObject]] = {
    ChannelKind.APPRISE: {
        "properties": {
            "enabled": _ENABLED,
            "url": {
                "type": "string",
                "writeOnly": True,
                "description": "An Apprise URL, such as mailtos://user:password@mail.example.com?to=ana@example.com",
            },
            "recipient": {
                "type": "string",
                "maxLength": 320,
                "examples": ["ana@example.com"],
                "description": "The only reader of the channel. This person can decide with links in messages.",
            },
        }
    },
    ChannelKind.SLACK: {
        "properties": {
            "enabled": _ENABLED,
            "channel": {
                "type": "string",
                "maxLength": 32,
                "examples": ["C0123456789"],
                "description": "The channel ID. Slack shows it in the channel details.",
            },
            "token": {"type": "string", "writeOnly": True, "description": "The bot token, xoxb-…"},
            "signing_secret": {"type": "string", "writeOnly": True, "description": "The signing secret of the app."},
            "api_url": {
                "type": "string",
                "maxLength": 200,
                "examples": ["https://slack.com/api"],
                "description": "Only for a proxy in front of the Slack API.",
            },
        }
    },
}


@router.get("/settings/notifications/channels/{name}", response_class=Response)
async def one(api: CurrentApi, name: str, kind: ChannelKind = ChannelKind.APPRISE) -> Response:
    return await _page(api, name, kind)


@router.post("/settings/notifications/channels/{name}", response_class=Response)
async def change(api: CurrentApi, name: str) -> Response:
    """Saves or deletes a channel. The form contains the name of a new one."""
    form = await form_of(api.request)
    kind = _kind(form.text("kind"))
    try:
        match form.text("act"):
            case "save":
                channel: JsonObject = {"kind": kind, **document_of(_SCHEMAS[kind], form)}
                await change_notifications(api, form, lambda now: _put(now, name, form.text("name"), channel))
            case "delete":
                await change_notifications(api, form, lambda now: _remove(now, name))
            case other:
                raise no_such_button(other)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _page(api, name, kind, form, error)
    return see_other(NOTIFICATIONS_PATH)


def _kind(text: str) -> ChannelKind:
    return ChannelKind(text) if text in tuple(ChannelKind) else ChannelKind.APPRISE


def _put(now: NotificationDocument, path_name: str, new_name: str, channel: JsonObject) -> None:
    """Raises ConflictError, NotFoundError."""
    if path_name == "new" and new_name in now.channels:
        raise ConflictError(f"A channel named {new_name[:64]} already exists. Choose another name.")
    now.channels[new_name if path_name == "new" else _there(now, path_name)] = channel


def _remove(now: NotificationDocument, name: str) -> None:
    """Removes a channel, also from rules. Deletes rules without another channel."""
    del now.channels[_there(now, name)]
    for rule in now.routes:
        named = rule["channels"]
        rule["channels"] = [one for one in named if one != name] if isinstance(named, list) else []
    now.routes[:] = [rule for rule in now.routes if rule["channels"]]


def _there(now: NotificationDocument, name: str) -> str:
    if name not in now.channels:
        raise NotFoundError(f"no channel {name[:64]}")
    return name


async def _page(
    api: Api, name: str, kind: ChannelKind, form: Form | None = None, error: HeadgateError | None = None
) -> Response:
    now = await load_notifications(api)
    is_new = name == "new"
    channel: JsonObject = {"kind": kind, "enabled": True} if is_new else now.channels[_there(now, name)]
    kind = ChannelKind(str(channel["kind"]))
    interactivity = channel.get("interactivity_path")
    typed = form if form is not None and form.text("act") == "save" else None
    context = {
        "name": None if is_new else name,
        "kind": kind,
        "fields": fields_of(_SCHEMAS[kind], channel, typed),
        "typed_name": "" if typed is None else typed.text("name"),
        "version": now.version if form is None else form.text("version"),
        "interactivity": f"{api.dependencies.api_url}{interactivity}" if interactivity else None,
    }
    return await settings_page(api, "notification_channel.html", NOTIFICATIONS_PATH, context, error=error)
