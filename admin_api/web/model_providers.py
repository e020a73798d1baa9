"""/settings/models: sets the language models for content policies, with a test. Keys are never shown."""

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter
from msgspec import Struct
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.settings.nlp_provider_routes import (
    ProviderAnswer,
    Trial,
    TrialAnswer,
    get_nlp_providers,
    save_nlp_providers,
    test_nlp_provider,
)
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from headgate.judges.model import ProviderKind
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError, HeadgateError, NotFoundError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/models"
_KINDS: Final = tuple((one.value, one.value) for one in ProviderKind if one is not ProviderKind.EMBEDDED)


class _Tried(Struct, frozen=True):
    """The trial of one provider."""

    provider: str
    answer: TrialAnswer


@router.get(_PATH, response_class=Response)
async def model_providers(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def act(api: CurrentApi) -> Response:
    """Adds, saves, removes or tests a provider. Others keep their settings and keys."""
    form = await form_of(api.request)
    try:
        if form.text("act") == "test":
            body = checked(Trial, {"provider": form.text("provider"), "model": form.optional("model")})
            answer = await api.call(test_nlp_provider, body, api.principal, api.dependencies)
            return await _page(api, tried=_Tried(body.provider, answer))
        now = await api.call(get_nlp_providers, Response(), api.principal, api.dependencies)
        document = _changed(now, form)
        version = form.optional("version")
        await save_nlp_providers(api.principal, api.dependencies, document, Response(), version)
    except HeadgateError as error:
        return await _page(api, form, error)
    return see_other(_PATH)


def _changed(now: Mapping[str, ProviderAnswer], form: Form) -> JsonObject:
    """The whole document. An omitted key is kept. Raises ValidationError, NotFoundError, ConflictError."""
    document: JsonObject = {name: _document(one) for name, one in now.items()}
    name = form.text("provider")
    match form.text("act"):
        case "add" if name in document:
            raise ConflictError(f"A provider named {name[:64]} already exists. Choose another name.")
        case "add":
            document[name] = _typed(form)
        case "save" | "remove" if name not in document:
            raise NotFoundError(f"No provider {name[:64]}")
        case "save":
            document[name] = _typed(form)
        case "remove":
            del document[name]
        case other:
            raise no_such_button(other)
    return document


def _document(one: ProviderAnswer) -> JsonObject:
    return {
        "kind": one.kind.value,
        "base_url": one.base_url,
        "models": list(one.models),
        "input_price": one.input_price,
        "output_price": one.output_price,
    }


def _typed(form: Form) -> JsonObject:
    """Raises ValidationError."""
    found: JsonObject = {
        "kind": form.text("kind"),
        "models": [*form.lines("models")],
        "input_price": _price(form, "input_price"),
        "output_price": _price(form, "output_price"),
    }
    if (base_url := form.optional("base_url")) is not None:
        found["base_url"] = base_url
    if form.text("forget_key"):
        found["api_key"] = None
    elif (key := form.optional("api_key")) is not None:
        found["api_key"] = key
    return found


def _price(form: Form, name: str) -> float | None:
    text = form.optional(name)
    try:
        return None if text is None else float(text)
    except ValueError as error:
        raise ValidationError(f"{name}: enter a number", details={"field": name}) from error


async def _page(
    api: Api, form: Form | None = None, error: HeadgateError | None = None, tried: _Tried | None = None
) -> Response:
    response = Response()
    now = await api.call(get_nlp_providers, response, api.principal, api.dependencies)
    context = {
        "providers": now,
        "kinds": _KINDS,
        "version": response.headers.get("etag", ""),
        "typed": form,
        "tried": tried,
    }
    return await settings_page(api, "model_providers.html", _PATH, context, error=error)
