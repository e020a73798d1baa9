"""/settings/notifications/rules/{number}: sets which events go to which channels, and when. ``new`` adds one."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, form_of, no_such_button, place_of
from admin_api.web.notification_document import (
    NOTIFICATIONS_PATH,
    NotificationDocument,
    change_notifications,
    load_notifications,
)
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import HeadgateError, NotFoundError
from headgate.notifications.model import DAYS, NOTIFIED_EVENTS
from headgate.policies.model import RiskLevel

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_HOURS: Final = ("from", "until", "days", "time_zone")


def _schema(channels: list[str]) -> JsonObject:
    """A rule's members, with those of its hours beside them."""
    names: JsonObject = {"enum": list[JsonValue](channels)}
    texts: JsonObject = {"type": "string"}
    return {
        "properties": {
            "channels": {"type": "array", "items": names},
            "events": {
                "type": "array",
                "items": {"enum": list[JsonValue](NOTIFIED_EVENTS)},
                "description": "none selected: the events that need a person's action",
            },
            "risk_levels": {
                "type": "array",
                "items": {"enum": [level.value for level in RiskLevel]},
                "description": "none selected: all",
            },
            "tools": {"type": "array", "items": texts, "description": "* is a wildcard. Empty: all."},
            "agents": {"type": "array", "items": texts, "description": "IDs or names. Empty: all."},
            "assignees": {"type": "array", "items": texts, "description": "People or groups. Empty: all."},
            "from": {"type": "string", "maxLength": 5, "examples": ["18:00"], "description": "Empty: at any hour."},
            "until": {
                "type": "string",
                "maxLength": 5,
                "examples": ["08:00"],
                "description": "An earlier time than the start means the next day.",
            },
            "days": {
                "type": "array",
                "items": {"enum": list[JsonValue](DAYS)},
                "description": "none selected: every day",
            },
            "time_zone": {
                "type": "string",
                "maxLength": 64,
                "examples": ["Europe/Berlin"],
                "description": "Empty: UTC.",
            },
        }
    }


@router.get("/settings/notifications/rules/{number}", response_class=Response)
async def one(api: CurrentApi, number: str) -> Response:
    return await _page(api, number)


@router.post("/settings/notifications/rules/{number}", response_class=Response)
async def change(api: CurrentApi, number: str) -> Response:
    """Saves or deletes a rule."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "save":
                await change_notifications(api, form, lambda now: _put(now, number, form))
            case "delete":
                await change_notifications(api, form, lambda now: now.routes.remove(now.routes[_there(now, number)]))
            case other:
                raise no_such_button(other)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _page(api, number, form, error)
    return see_other(NOTIFICATIONS_PATH)


def _put(now: NotificationDocument, number: str, form: Form) -> None:
    """Raises ValidationError, NotFoundError."""
    given = {name: value for name, value in document_of(_schema(list(now.channels)), form).items() if value}
    hours: JsonObject = {name: given.pop(name) for name in _HOURS if name in given}
    rule: JsonObject = {**given, **({"between": hours} if hours else {})}
    if number == "new":
        now.routes.append(rule)
    else:
        now.routes[_there(now, number)] = rule


def _there(now: NotificationDocument, number: str) -> int:
    """The place of a rule in the list; its address counts from 1."""
    if (place := place_of(number, len(now.routes))) is None:
        raise NotFoundError(f"No rule {number[:16]}.")
    return place


async def _page(api: Api, number: str, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    now = await load_notifications(api)
    rule: JsonObject = {} if number == "new" else now.routes[_there(now, number)]
    hours = rule.get("between")
    shown = {**rule, **hours} if isinstance(hours, dict) else rule
    typed = form if form is not None and form.text("act") == "save" else None
    context = {
        "number": number,
        "fields": fields_of(_schema(list(now.channels)), shown, typed),
        "has_channels": bool(now.channels),
        "version": now.version if form is None else form.text("version"),
    }
    return await settings_page(api, "notification_rule.html", NOTIFICATIONS_PATH, context, error=error)
