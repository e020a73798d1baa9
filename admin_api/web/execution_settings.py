"""/settings/executions: how often and how fast calls are carried out."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.settings.execution_routes import get_limits, set_limits
from admin_api.web.api import Api, CurrentApi, document_in
from admin_api.web.form import Form, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import back_to, settings_page
from headgate.executions.model import limits_most
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/executions"
_HINTS: Final = {
    "most_attempts": "Of one execution.",
    "first_retry_seconds": "The pause before the second attempt. It doubles with each further attempt.",
    "last_retry_seconds": "The longest pause.",
    "timeout_seconds": "Of one attempt, with connecting and the whole answer.",
    "agent_concurrency": "Calls of one agent at the same time.",
    "destination_concurrency": "Calls to one destination at the same time.",
    "destination_per_second": "Calls to one destination in a second.",
    "breaker_failures": "After so many failures in a row, nothing is sent to a destination for a while.",
    "breaker_seconds": "For so long, and twice as long each time it fails again.",
    "result_max_bytes": "Of an answer's body that is kept.",
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
    """What is empty is the default."""
    form = await form_of(api.request)
    try:
        version = form.optional("version")
        await api.call(set_limits, api.sending(document_of(_schema(api), form)), version)
    except HeadgateError as error:
        return await _page(api, form, error)
    return back_to(_PATH)


async def _page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    answer = await api.call(get_limits, api.request)
    context = {
        "fields": fields_of(_schema(api), document_in(answer), form),
        "version": answer.headers.get("etag", "") if form is None else form.text("version"),
        "message": None if error is None else error.message,
    }
    status = 200 if error is None else error.http_status
    return await settings_page(api, "execution_settings.html", _PATH, context, status=status)
