"""/settings/executions: sets attempts, rates and timeouts of executions."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.settings.execution_routes import get_limits, set_limits
from admin_api.web.api import Api, CurrentApi, document_in
from admin_api.web.form import Form, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import settings_page
from headgate.executions.model import limits_most
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/executions"
_HINTS: Final = {
    "most_attempts": "Maximum number of attempts of one execution.",
    "first_retry_seconds": "Pause before the second attempt. It doubles with each further attempt.",
    "last_retry_seconds": "Longest pause between two attempts.",
    "timeout_seconds": "Time limit of one attempt, from connecting to the end of the response.",
    "agent_concurrency": "Concurrent calls of one agent.",
    "destination_concurrency": "Concurrent calls to one destination.",
    "destination_per_second": "Calls per second to one destination.",
    "breaker_failures": "Consecutive failures after which Headgate pauses a destination.",
    "breaker_seconds": "First pause of a failing destination. It doubles each time the destination fails again.",
    "result_max_bytes": "Maximum size of the stored response body.",
}


def _schema(api: Api) -> JsonObject:
    most = limits_most(api.dependencies.execution_concurrency_max)
    return {
        "properties": {
            name: {"type": "integer", "minimum": 1, "maximum": most[name], "description": hint}
            for name, hint in _HINTS.items()
        }
    }


@router.get(_PATH, response_class=Response)
async def limits(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def save(api: CurrentApi) -> Response:
    """Saves the limits. Empty fields get their defaults."""
    form = await form_of(api.request)
    try:
        version = form.optional("version")
        await api.call(set_limits, api.sending(document_of(_schema(api), form)), version)
    except HeadgateError as error:
        return await _page(api, form, error)
    return see_other(_PATH)


async def _page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    answer = await api.call(get_limits, api.request)
    context = {
        "fields": fields_of(_schema(api), document_in(answer), form),
        "version": answer.headers.get("etag", "") if form is None else form.text("version"),
    }
    return await settings_page(api, "execution_settings.html", _PATH, context, error=error)
