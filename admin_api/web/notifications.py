"""/settings/notifications: lists channels and rules. Each channel and each rule has its own page."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.notifications.settings_routes import ChannelTest, list_all_versions, test_channel
from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of, no_such_button
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
from headgate.kernel.errors import HeadgateError
from headgate.notifications.model import DEFAULT_EVENTS

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_VERSIONS: Final = PageRequest(20)
_LIMITS: Final[JsonObject] = {
    "properties": {
        "most_single": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "description": "Maximum for a channel. A digest contains the rest.",
        },
        "window_seconds": {
            "type": "integer",
            "minimum": 10,
            "maximum": 86_400,
            "description": "Headgate counts the messages in this time.",
        },
        "link_seconds": {
            "type": "integer",
            "minimum": 60,
            "maximum": 86_400,
            "description": "Of the link that each message has.",
        },
        "people": {
            "type": "object",
            "description": "Accounts without a matching email address, with the ID of their member.",
        },
    }
}
_LABELS: Final = {
    "most_single": "Messages per window",
    "window_seconds": "Window in seconds",
    "link_seconds": "Validity of links in seconds",
    "people": "Slack accounts",
}


@router.get(NOTIFICATIONS_PATH, response_class=Response)
async def notifications(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(NOTIFICATIONS_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Tests a channel and shows its message, or saves the limits."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "test":
                body = checked(ChannelTest, {"channel": form.text("channel")})
                sent = await api.call(test_channel, body, api.principal, api.dependencies)
                return see_other(f"{NOTIFICATIONS_PATH}/messages/{sent.id}")
            case "limits":
                await change_notifications(api, form, lambda now: _limit(now, document_of(_LIMITS, form)))
            case other:
                raise no_such_button(other)
    except HeadgateError as error:
        return await _page(api, form, error)
    return see_other(NOTIFICATIONS_PATH)


def _limit(now: NotificationDocument, limits: JsonObject) -> None:
    digest: JsonObject = {name: limits.pop(name) for name in ("window_seconds", "most_single") if name in limits}
    now.document["digest"] = digest
    now.document.update(limits)


async def _page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    now = await load_notifications(api)
    digest = now.document["digest"]
    limits = {**now.document, **(digest if isinstance(digest, dict) else {})}
    typed = form if form is not None and form.text("act") == "limits" else None
    context = {
        "channels": now.channels,
        "rules": now.routes,
        "warnings": now.document["warnings"],
        "fields": fields_of(_LIMITS, limits, typed, _LABELS),
        "version": now.version if typed is None else typed.text("version"),
        "versions": (await api.call(list_all_versions, _VERSIONS, api.principal, api.dependencies)).data,
        "default_events": sorted(DEFAULT_EVENTS),
    }
    return await settings_page(api, "notifications.html", NOTIFICATIONS_PATH, context, error=error)
