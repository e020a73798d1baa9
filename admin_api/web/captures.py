"""/settings/captures: sets which calls are captured. The first rule that matches a call applies."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.settings.capture_routes import get_captures, set_captures
from admin_api.web.api import Api, CurrentApi, document_in
from admin_api.web.form import Form, form_of, no_such_button, place_of
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import HeadgateError, ValidationError
from headgate.traffic.model import CaptureLevel
from headgate.traffic.rules import BODY_LIMIT_MOST_BYTES

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/captures"
_TEXTS: Final[JsonObject] = {"type": "string"}
_RULE: Final[JsonObject] = {
    "properties": {
        "capture": {
            "enum": [level.value for level in reversed(CaptureLevel)],
            "description": "bodies: complete requests and responses. heads: without bodies. off: nothing.",
        },
        "hosts": {"type": "array", "items": _TEXTS, "description": "Host names, or *.name. Empty: all."},
        "tools": {"type": "array", "items": _TEXTS, "description": "Empty: all."},
        "operations": {"type": "array", "items": _TEXTS, "description": "Empty: all."},
        "agents": {"type": "array", "items": _TEXTS, "description": "IDs (agt_…). Empty: all."},
    }
}
_LIMIT: Final[JsonObject] = {
    "properties": {
        "body_limit_bytes": {
            "type": "integer",
            "minimum": 1,
            "maximum": BODY_LIMIT_MOST_BYTES,
            "description": "Maximum number of bytes that Headgate keeps of each body.",
        }
    }
}


@router.get(_PATH, response_class=Response)
async def captures(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Adds a rule, moves one up, removes one, or sets the size limit of bodies."""
    form = await form_of(api.request)
    try:
        document, _ = await _load(api)
        rules = _rules(document)
        match form.text("act"):
            case "add":
                rules.append(document_of(_RULE, form))
            case "up":
                place = _place(rules, form)
                rules[max(place - 1, 0)], rules[place] = rules[place], rules[max(place - 1, 0)]
            case "remove":
                rules.pop(_place(rules, form))
            case "limit":
                document |= document_of(_LIMIT, form)
            case other:
                raise no_such_button(other)
        await api.call(set_captures, api.sending(document), form.optional("version"))
    except HeadgateError as error:
        return await _page(api, form, error)
    return see_other(_PATH)


async def _load(api: Api) -> tuple[JsonObject, str]:
    """The current document and its version. Empty: never set."""
    answer = await api.call(get_captures, api.request)
    return document_in(answer), answer.headers.get("etag", "")


def _rules(document: JsonObject) -> list[JsonValue]:
    rules = document["rules"]
    return rules if isinstance(rules, list) else []


def _place(rules: list[JsonValue], form: Form) -> int:
    number = form.text("number")
    if (place := place_of(number, len(rules))) is None:
        raise ValidationError(f"No rule {number[:16]!r}.", details={"field": "number"})
    return place


async def _page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    document, version = await _load(api)
    act = None if form is None else form.text("act")
    context = {
        "rules": _rules(document),
        "rule_fields": fields_of(_RULE, {}, form if act == "add" else None),
        "limit_fields": fields_of(_LIMIT, document, form if act == "limit" else None),
        "version": version if form is None else form.text("version"),
    }
    return await settings_page(api, "captures.html", _PATH, context, error=error)
