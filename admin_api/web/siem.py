"""/settings/siem: sets the destinations of recorded events, and shows the lag of each."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.siem.routes import StreamAnswer, StreamsAnswer, get_destinations, set_destinations
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ConflictError, HeadgateError, NotFoundError
from headgate.siem.model import FROM

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/siem"
_SCHEMA: Final[JsonObject] = {
    "properties": {
        "address": {
            "type": "string",
            "maxLength": 2048,
            "examples": ["https://siem.example.com/ingest"],
            "description": "https:// or http:// (JSON Lines), syslog+tls:// or syslog+tcp:// (RFC 5424), or file:",
        },
        "authorization": {
            "type": "string",
            "writeOnly": True,
            "description": "The Authorization header, for HTTP only. If you change the address, enter it again.",
        },
        "from": {"enum": list(FROM), "description": "The first events that a new destination receives."},
        "enabled": {"type": "boolean", "description": "A disabled destination keeps its position in the log."},
    }
}


@router.get(_PATH, response_class=Response)
async def destinations(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Adds, saves or removes a destination."""
    form = await form_of(api.request)
    name = form.text("name")
    try:
        kept = {one: _written(stream) for one, stream in (await _load(api))[0].destinations.items()}
        match form.text("act"):
            case "add" if name in kept:
                raise ConflictError(f"A destination named {name[:64]} already exists. Choose another name.")
            case "save" | "remove" if name not in kept:
                raise NotFoundError(f"No destination {name[:64]}.")
            case "add" | "save":
                kept[name] = document_of(_SCHEMA, form)
            case "remove":
                del kept[name]
            case other:
                raise no_such_button(other)
        document: JsonObject = {"destinations": dict[str, JsonValue](kept)}
        version = form.optional("version")
        await api.call(set_destinations, api.sending(document), Response(), api.dependencies, version)
    except HeadgateError as error:
        return await _page(api, form, error)
    return see_other(_PATH)


async def _load(api: Api) -> tuple[StreamsAnswer, str]:
    """The destinations of now, and their version; empty: never set."""
    response = Response()
    found = await api.call(get_destinations, response, api.principal, api.dependencies)
    return found, response.headers.get("etag", "")


def _written(stream: StreamAnswer) -> JsonObject:
    return {"address": stream.address, "enabled": stream.enabled, "from": stream.starts_at}


async def _page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    streams, version = await _load(api)
    typed = form if form is not None and form.text("act") in ("add", "save") else None
    name = None if typed is None else typed.text("name")
    rows = [
        (one, stream, fields_of(_SCHEMA, _shown(stream), typed if one == name else None))
        for one, stream in streams.destinations.items()
    ]
    is_new = typed is not None and typed.text("act") == "add"
    context = {
        "rows": rows,
        "new_fields": fields_of(_SCHEMA, {"enabled": True}, typed if is_new else None),
        "typed_name": name if is_new else "",
        "version": version if form is None else form.text("version"),
    }
    return await settings_page(api, "siem.html", _PATH, context, error=error)


def _shown(stream: StreamAnswer) -> JsonObject:
    return {**_written(stream), "has_authorization": stream.has_authorization}
