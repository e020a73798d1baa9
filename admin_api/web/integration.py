"""/settings/integrations/{name}: shows the settings, test, outgoing and incoming messages of one platform."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.integrations.routes import ROUTES
from admin_api.integrations.schemas import IntegrationTestAnswer
from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, form_of, no_such_button
from admin_api.web.integrations import INTEGRATIONS_PATH, PLATFORMS, load_integration
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import settings_page
from headgate.integrations.catalogue import SETTINGS
from headgate.integrations.form import IntegrationSettings, body_schema
from headgate.integrations.model import Integration
from headgate.kernel.errors import HeadgateError, NotFoundError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_LISTED: Final = PageRequest(20)


@router.get("/settings/integrations/{name}", response_class=Response)
async def one(api: CurrentApi, name: str) -> Response:
    return await _page(api, _named(name))


@router.post("/settings/integrations/{name}", response_class=Response)
async def change(api: CurrentApi, name: str) -> Response:
    """Saves the settings, tests the connection, or sends a message again."""
    form, integration = await form_of(api.request), _named(name)
    settings, history = ROUTES[integration]
    try:
        match form.text("act"):
            case "save":
                document = document_of(body_schema(SETTINGS[integration]), form)
                version = form.optional("version")
                await api.call(settings.put, api.sending(document), None if version is None else f'"{version}"')
            case "test":
                return await _page(
                    api, integration, tested=await api.call(settings.test, api.principal, api.dependencies)
                )
            case "redeliver":
                await api.call(history.again, form.text("delivery_id"), api.principal, api.dependencies)
            case other:
                raise no_such_button(other)
    except HeadgateError as error:
        return await _page(api, integration, form=form, error=error)
    return see_other(f"{INTEGRATIONS_PATH}/{integration}")


def _named(name: str) -> Integration:
    if name not in tuple(Integration):
        raise NotFoundError(f"Unknown integration {name[:64]!r}. Integrations: {', '.join(Integration)}.")
    return Integration(name)


def _place(cls: type[IntegrationSettings], member: str) -> int:
    """On first, then what only this platform has, its secrets, and what all platforms have."""
    return 0 if member == "enabled" else 1 if member in cls.__annotations__ else 2 if member in cls.SECRETS else 3


async def _page(
    api: Api,
    integration: Integration,
    *,
    tested: IntegrationTestAnswer | None = None,
    form: Form | None = None,
    error: HeadgateError | None = None,
) -> Response:
    settings, cls = await load_integration(api, integration), SETTINGS[integration]
    typed = form if form is not None and form.text("act") == "save" else None
    _, history = ROUTES[integration]
    principal, dependencies = api.principal, api.dependencies
    context = {
        "integration": integration,
        "platform": PLATFORMS[integration],
        "settings": settings,
        "fields": sorted(fields_of(body_schema(cls), settings, typed), key=lambda field: _place(cls, field.name)),
        "version": settings["version"] or "" if typed is None else typed.text("version"),
        "tested": tested,
        "deliveries": (await api.call(history.deliveries, _LISTED, principal, dependencies)).data,
        "receipts": (await api.call(history.receipts, principal, dependencies)).data,
        "versions": (await api.call(history.versions, _LISTED, principal, dependencies)).data,
        "api_url": dependencies.api_url,
    }
    return await settings_page(api, "integration.html", INTEGRATIONS_PATH, context, error=error)
