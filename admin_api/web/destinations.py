"""/settings/destinations: edits the allowlist, the document that policies read as ``data.allowlist``."""

import json
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.settings.routes import get_allowlist, save_allowlist
from admin_api.web.api import Api, CurrentApi, document_in
from admin_api.web.form import Form, filled, form_of, no_such_button, place_of, whole_number
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import HeadgateError, NotFoundError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/destinations"
_LISTS: Final = ("destinations", "tools")
_DESTINATION: Final[JsonObject] = {
    "properties": {
        "host": {
            "type": "string",
            "description": "A name, *.name, an address or a network.",
            "examples": ["api.example.com, 10.0.0.0/8"],
        },
        "ports": {"type": "string", "description": "Separated by commas. Empty: all.", "examples": ["443, 8443"]},
        "private": {
            "type": "boolean",
            "description": "Headgate connects to private addresses of this entry, where the operator has allowed them.",
        },
        "note": {"type": "string", "maxLength": 500},
    }
}


@router.get(_PATH, response_class=Response)
async def destinations(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Adds or removes an entry, or replaces the document, if it is still the shown version."""
    form = await form_of(api.request)
    try:
        if (act := form.text("act")) == "replace":
            body = form.text("document").encode()
        else:
            document, _ = await _load(api)
            _edit(document, act, form)
            body = canonical_bytes(document)
        await save_allowlist(api.principal, api.dependencies, body, form.optional("version"))
    except HeadgateError as error:
        return await _page(api, form, error)
    return see_other(_PATH)


def _edit(document: JsonObject, act: str, form: Form) -> None:
    """Raises ValidationError."""
    match act:
        case "add":
            _entries(document, "destinations").append(_entry(form))
        case "add-tool":
            if not (tool := form.text("tool")):
                raise ValidationError("Enter the name of the tool.", details={"field": "tool"})
            _entries(document, "tools").append(tool)
        case "remove" if (name := form.text("list")) in _LISTS:
            entries, number = _entries(document, name), form.text("number")
            if (place := place_of(number, len(entries))) is None:
                raise ValidationError(f"No entry {number[:16]!r}.", details={"field": "number"})
            entries.pop(place)
        case other:
            raise no_such_button(other)


def _entry(form: Form) -> JsonObject:
    """Raises ValidationError."""
    entry = document_of(_DESTINATION, form)
    if "ports" in entry:
        entry["ports"] = [whole_number(port, "ports") for port in filled(form.text("ports").split(","))]
    return entry


def _entries(document: JsonObject, name: str) -> list[JsonValue]:
    entries = document.setdefault(name, [])
    return entries if isinstance(entries, list) else []


async def _load(api: Api) -> tuple[JsonObject, str]:
    """The current document and its version. Empty: never set."""
    try:
        answer = await api.call(get_allowlist, api.request)
    except NotFoundError:
        return {"destinations": [], "tools": []}, ""
    return document_in(answer), answer.headers["etag"]


async def _page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    document, version = await _load(api)
    act = None if form is None else form.text("act")
    context = {
        "destinations": _entries(document, "destinations"),
        "tools": _entries(document, "tools"),
        "fields": fields_of(_DESTINATION, {}, form if act == "add" else None),
        "tool": form.text("tool") if form is not None and act == "add-tool" else "",
        "is_replacing": act == "replace",
        "document": form.text("document")
        if form is not None and act == "replace"
        else json.dumps(document, indent=2, ensure_ascii=False),
        "version": version if form is None else form.text("version"),
    }
    return await settings_page(api, "destinations.html", _PATH, context, error=error)
