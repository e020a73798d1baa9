"""/settings/webhooks: manages endpoints, shows their deliveries, and sends tests and messages again."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.identifiers import WebhookId
from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from admin_api.webhooks.routes import create, delete, get, list_all, list_of_endpoint, rotate, send_again, test, update
from admin_api.webhooks.schemas import EndpointChange, EndpointWithSecretAnswer, NewEndpoint
from headgate.kernel.errors import HeadgateError
from headgate.webhooks.model import DEFAULT_EVENTS, SUBSCRIBABLE

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/webhooks"
_AT_ONCE: Final = 100
_DELIVERIES: Final = 50


@router.get(_PATH, response_class=Response)
async def webhooks(api: CurrentApi) -> Response:
    return await _list_page(api)


@router.post(_PATH, response_class=Response)
async def add(api: CurrentApi) -> Response:
    """Adds an endpoint and shows its secret, once."""
    form = await form_of(api.request)
    values = {
        "url": form.text("url"),
        "description": form.optional("description"),
        "events": list(form.several("events")) or None,
    }
    try:
        made = await api.call(create, checked(NewEndpoint, values), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _list_page(api, form.text("url"), error)
    return await _one_page(api, made.id, made=made, status=201)


@router.get("/settings/webhooks/{webhook_id}", response_class=Response)
async def one(api: CurrentApi, webhook_id: WebhookId) -> Response:
    return await _one_page(api, webhook_id)


@router.post("/settings/webhooks/{webhook_id}", response_class=Response)
async def change(api: CurrentApi, webhook_id: WebhookId) -> Response:
    form = await form_of(api.request)
    try:
        made = await _act(api, webhook_id, form)
    except HeadgateError as error:
        return await _one_page(api, webhook_id, error=error)
    if made is not None:
        return await _one_page(api, webhook_id, made=made, status=201)
    return see_other(_PATH if form.text("act") == "delete" else f"{_PATH}/{webhook_id}")


async def _act(api: Api, webhook_id: str, form: Form) -> EndpointWithSecretAnswer | None:
    principal, dependencies = api.principal, api.dependencies
    match form.text("act"):
        case "enable" | "disable":
            body = checked(EndpointChange, {"enabled": form.text("act") == "enable"})
            await api.call(update, webhook_id, body, principal, dependencies)
        case "test":
            await api.call(test, webhook_id, principal, dependencies)
        case "rotate":
            return await api.call(rotate, webhook_id, principal, dependencies)
        case "redeliver":
            await api.call(send_again, webhook_id, form.text("delivery_id"), principal, dependencies)
        case "delete":
            await api.call(delete, webhook_id, principal, dependencies)
        case other:
            raise no_such_button(other)
    return None


async def _list_page(api: Api, typed: str = "", error: HeadgateError | None = None) -> Response:
    page = PageRequest(_AT_ONCE)
    context = {
        "endpoints": (await api.call(list_all, page, api.principal, api.dependencies)).data,
        "events": [(one.value, one in DEFAULT_EVENTS) for one in SUBSCRIBABLE],
        "typed": typed,
    }
    return await settings_page(api, "webhooks.html", _PATH, context, error=error)


async def _one_page(
    api: Api,
    webhook_id: str,
    *,
    made: EndpointWithSecretAnswer | None = None,
    error: HeadgateError | None = None,
    status: int = 200,
) -> Response:
    page = PageRequest(_DELIVERIES)
    context = {
        "endpoint": await api.call(get, webhook_id, api.principal, api.dependencies),
        "deliveries": (await api.call(list_of_endpoint, webhook_id, page, api.principal, api.dependencies)).data,
        "made": made,
    }
    return await settings_page(api, "webhook.html", _PATH, context, error=error, status=status)
