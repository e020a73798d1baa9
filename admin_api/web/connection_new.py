"""/connections/new: connects a platform by OAuth consent, or with a credential.

The consent begins with a page that shows the scopes and leads to the platform: a form here is sent nowhere else
(``form-action 'self'``), and the person sees what will be asked for.
"""

from typing import Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.connections.answers import ConnectionPlatformAnswer, OAuthStartAnswer
from admin_api.connections.platform_routes import connect_bluesky, connect_mastodon, initiate, register_mastodon
from admin_api.connections.routes import create, list_platforms
from admin_api.connections.schemas import (
    MastodonRegistration,
    NewBluesky,
    NewConnection,
    NewMastodon,
    OAuthStart,
)
from admin_api.pages import see_other
from admin_api.web.api import Api, CurrentApi
from admin_api.web.connection_parts import bindable_agents, binding_of, consent_page, redirect_uri
from admin_api.web.connection_ways import ways_of
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.shell import shell_page
from headgate.connections.model import ConnectionKind
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import HeadgateError, NotFoundError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/connections"


@router.get("/connections/new", response_class=Response)
async def new(
    api: CurrentApi,
    platform: str | None = Query(default=None, max_length=64),
    way: str = Query(default="", max_length=32),
) -> Response:
    """Lists the platforms, or shows the form of one way to connect one."""
    if platform is None:
        context = {"platforms": (await api.call(list_platforms)).data}
        return await shell_page(api, "connection_platforms.html", _PATH, context)
    found = await _platform(api, platform)
    return await _page(api, found, way if way in ways_of(found) else next(iter(ways_of(found))))


@router.post("/connections/new", response_class=Response)
async def connect(api: CurrentApi) -> Response:
    form = await form_of(api.request)
    platform = await _platform(api, form.text("platform"))
    way = form.text("way")
    if way not in ways_of(platform):
        raise ValidationError(f"{platform.title} does not support the method {way[:32]!r}.")
    try:
        made = await _make(api, platform, way, form)
    except HeadgateError as error:
        return await _page(api, platform, way, form, error)
    if isinstance(made, OAuthStartAnswer):
        return await consent_page(api, made, platform.title)
    return see_other(f"{_PATH}/{made}")


async def _make(api: Api, platform: ConnectionPlatformAnswer, way: str, form: Form) -> OAuthStartAnswer | str:
    """Starts a consent, or creates a connection and returns its id. Raises the errors of the routes."""
    principal, dependencies = api.principal, api.dependencies
    chosen = ways_of(platform)[way]
    values = binding_of(form) | document_of(chosen.schema, form) | {"name": form.text("name")}
    values["tools"] = values["tools"] or None
    match way:
        case "oauth":
            values |= {"platform": platform.name, "redirect_uri": redirect_uri(api)}
            shared = {name: value for name, value in values.items() if value != []}
            return await api.call(initiate, checked(OAuthStart, shared), principal, dependencies)
        case "register":
            body = checked(MastodonRegistration, values | {"redirect_uri": redirect_uri(api)})
            return await api.call(register_mastodon, body, principal, dependencies)
        case "token":
            return (await api.call(connect_mastodon, checked(NewMastodon, values), principal, dependencies)).id
        case "app-password":
            return (await api.call(connect_bluesky, checked(NewBluesky, values), principal, dependencies)).id
    values |= {"platform": platform.name, "kind": values.get("kind", way)}
    header = values.pop("header", None)
    if header and values["kind"] == ConnectionKind.API_KEY:
        values["place"] = {"name": header}
    for member, names in (("settings", chosen.settings), ("credentials", chosen.secrets)):
        values[member] = {name: values.pop(name) for name in names if name in values}
    return (await api.call(create, checked(NewConnection, values), principal, dependencies)).id


async def _platform(api: Api, name: str) -> ConnectionPlatformAnswer:
    found = next((one for one in (await api.call(list_platforms)).data if one.name == name), None)
    if found is None:
        raise NotFoundError(f"Unknown platform {name[:64]!r}. /connections/new lists the platforms.")
    return found


async def _page(
    api: Api,
    platform: ConnectionPlatformAnswer,
    way: str,
    form: Form | None = None,
    error: HeadgateError | None = None,
) -> Response:
    defaults: JsonObject = {"hosts": [*platform.hosts], "scopes": [*platform.scopes]}
    ways = ways_of(platform)
    context = {
        "platform": platform,
        "ways": ways,
        "way": way,
        "fields": fields_of(ways[way].schema, defaults, form),
        "typed": {name: "" if form is None else form.text(name) for name in ("name", "tools", "needs_placeholder")},
        "marked": () if form is None else form.several("agents"),
        "agents": await bindable_agents(api),
        "redirect_uri": redirect_uri(api),
    }
    return await shell_page(api, "connection_new.html", _PATH, context, error=error)
