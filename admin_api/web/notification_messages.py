"""/settings/notifications/messages: lists the messages to people with their results, and sends one again."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.identifiers import DeliveryId
from admin_api.notifications.routes import get, list_all, send_again
from admin_api.pages import see_other
from admin_api.pagination import MAX_OFFSET, PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.notification_document import NOTIFICATIONS_PATH
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from headgate.deliveries.model import DeliveryStatus
from headgate.kernel.errors import HeadgateError, NotFoundError
from headgate.notifications.model import UNROUTED

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = f"{NOTIFICATIONS_PATH}/messages"
_AT_ONCE: Final = 50


@router.get("/settings/notifications/messages", response_class=Response)
async def messages(
    api: CurrentApi,
    channel: Annotated[str | None, Query(max_length=64)] = None,
    status: DeliveryStatus | None = None,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> Response:
    found = await api.call(
        list_all,
        PageRequest(_AT_ONCE, offset),
        api.principal,
        api.dependencies,
        channel=channel,
        status=status,
    )
    context = {
        "deliveries": found.data,
        "channel": channel or "",
        "status": status or "",
        "statuses": [("", "Any"), *((one.value, one.value.capitalize()) for one in DeliveryStatus)],
        "nobody": UNROUTED,
        "is_first": not offset,
        "older": offset + _AT_ONCE if found.pagination.total > offset + _AT_ONCE else None,
    }
    return await settings_page(api, "notification_messages.html", NOTIFICATIONS_PATH, context)


@router.get("/settings/notifications/messages/{delivery_id}", response_class=Response)
async def one(api: CurrentApi, delivery_id: DeliveryId) -> Response:
    return await _page(api, delivery_id)


@router.post("/settings/notifications/messages/{delivery_id}", response_class=Response)
async def repeat(api: CurrentApi, delivery_id: DeliveryId) -> Response:
    """Sends a message again, with a new link."""
    try:
        await api.call(send_again, delivery_id, api.principal, api.dependencies)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _page(api, delivery_id, error)
    return see_other(f"{_PATH}/{delivery_id}")


async def _page(api: Api, delivery_id: str, error: HeadgateError | None = None) -> Response:
    context = {
        "delivery": await api.call(get, delivery_id, api.principal, api.dependencies),
    }
    return await settings_page(api, "notification_message.html", NOTIFICATIONS_PATH, context, error=error)
