"""/connections/new: connects a platform by OAuth consent, with an app password, or with a secret.

The consent begins with a page that shows the scopes and leads to the platform: a form here is sent nowhere else
(``form-action 'self'``), and the person sees what will be asked for.
"""

from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.agents.routes import list_all as list_agents
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
from admin_api.pagination import ListRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.settings_tabs import back_to
from admin_api.web.shell import shell_page
from headgate.connections.model import ConnectionKind
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import HeadgateError, NotFoundError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/connections"
_AGENTS: Final = ListRequest(200, 0, exact_total=False, camel=False, cursor=None)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to connect: its button and its form. ``by_consent``: the platform asks the account's owner."""

    title: str
    button: str
    schema: JsonObject
    by_consent: bool = False


def _text(description: str = "", *examples: str) -> JsonObject:
    return {"type": "string", "maxLength": 2048, "description": description, "examples": [*examples]}


def _secret(description: str = "") -> JsonObject:
    return {"type": "string", "writeOnly": True, "description": description}


def _lines(description: str) -> JsonObject:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _schema(**properties: JsonObject) -> JsonObject:
    return {"properties": {**properties}}


_HOSTS: Final = _lines("Exact host names, such as api.example.com. Headgate sends the credential only to these hosts.")
_OAUTH: Final = _schema(
    client_id=_text("The client ID of the application that you registered on the platform."),
    client_secret=_secret("The client secret of the application. Empty for a public client."),
    scopes=_lines("The scopes that the application requests."),
    hosts=_HOSTS,
)
_OWN_OAUTH: Final = _schema(
    client_id=_text("The client ID of the application that you registered on the platform."),
    client_secret=_secret("The client secret of the application. Empty for a public client."),
    scopes=_lines("The scopes that the application requests."),
    hosts=_HOSTS,
    authorization_url=_text("The authorization endpoint.", "https://login.example.com/authorize"),
    token_url=_text("The token endpoint.", "https://login.example.com/token"),
)
_KEY: Final = _schema(
    kind={"enum": ["bearer", "api_key"], "description": "bearer: Authorization: Bearer …. api_key: a header."},
    header=_text("The header name for api_key. Empty: X-API-Key.", "X-API-Key"),
    hosts=_HOSTS,
    secret=_secret("At least 8 characters."),
)
_BLUESKY: Final = _schema(
    identifier=_text("", "robot.bsky.social"),
    app_password=_secret("Create it in the account settings. Do not use the account password."),
    service=_text("Empty: https://bsky.social", "https://bsky.social"),
)
_MASTODON: Final = _schema(instance=_text("", "mastodon.social"))
_MASTODON_TOKEN: Final = _schema(
    instance=_text("", "mastodon.social"), access_token=_secret("An application's access token.")
)


@router.get("/connections/new", response_class=Response)
async def new(api: CurrentApi, platform: str | None = Query(default=None, max_length=64)) -> Response:
    """Lists the platforms, or shows the forms of one."""
    if platform is None:
        context = {"platforms": (await api.call(list_platforms)).data}
        return await shell_page(api, "connection_platforms.html", _PATH, context)
    return await _page(api, await _platform(api, platform))


@router.post("/connections/new", response_class=Response)
async def connect(api: CurrentApi) -> Response:
    form = await form_of(api.request)
    platform = await _platform(api, form.text("platform"))
    way = form.text("way")
    if way not in _ways(platform):
        raise ValidationError(f"{platform.title} does not support the method {way[:32]!r}.")
    try:
        made = await _make(api, platform, way, form)
    except HeadgateError as error:
        return await _page(api, platform, form, error)
    if isinstance(made, OAuthStartAnswer):
        return await shell_page(
            api, "connection_consent.html", _PATH, {"begun": made, "platform": platform}, status=201
        )
    return back_to(f"{_PATH}/{made}")


async def _make(api: Api, platform: ConnectionPlatformAnswer, way: str, form: Form) -> OAuthStartAnswer | str:
    """Starts a consent, or creates a connection and returns its id. Raises the errors of the routes."""
    principal, dependencies = api.principal, api.dependencies
    values: dict[str, object] = {**_bindings(form), **document_of(_ways(platform)[way].schema, form)}
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
    header, secret = values.pop("header", None), values.pop("secret", None)
    place = {"name": header} if header and values["kind"] == ConnectionKind.API_KEY else {}
    values |= {"platform": platform.name, "place": place, "credentials": {"secret": secret} if secret else {}}
    return (await api.call(create, checked(NewConnection, values), principal, dependencies)).id


def redirect_uri(api: Api) -> str:
    """The redirect URI, exactly as registered at the platform."""
    return f"{api.dependencies.api_url}/connections/callback"


def _bindings(form: Form) -> dict[str, object]:
    """The agents and tools of the connection."""
    tools = [line.strip() for line in form.text("tools").splitlines() if line.strip()]
    return {
        "name": form.text("name"),
        "agents": list(form.several("agents")),
        "tools": tools or None,
        "needs_placeholder": form.text("needs_placeholder") == "true",
    }


def _ways(platform: ConnectionPlatformAnswer) -> dict[str, Way]:
    if platform.name == "bluesky":
        return {"app-password": Way("With an app password", "Connect", _BLUESKY)}
    if platform.name == "mastodon":
        return {
            "register": Way("By consent", "Start consent", _MASTODON, by_consent=True),
            "token": Way("With a token", "Connect", _MASTODON_TOKEN),
        }
    found: dict[str, Way] = {}
    if ConnectionKind.OAUTH2 in platform.kinds:
        schema = _OWN_OAUTH if platform.name == "generic" else _OAUTH
        found["oauth"] = Way("By consent (OAuth)", "Start consent", schema, by_consent=True)
    if ConnectionKind.BEARER in platform.kinds:
        found["key"] = Way("With a key or token", "Connect", _KEY)
    return found


async def _platform(api: Api, name: str) -> ConnectionPlatformAnswer:
    found = next((one for one in (await api.call(list_platforms)).data if one.name == name), None)
    if found is None:
        raise NotFoundError(f"Unknown platform {name[:64]!r}. /connections/new lists the platforms.")
    return found


async def _page(
    api: Api, platform: ConnectionPlatformAnswer, form: Form | None = None, error: HeadgateError | None = None
) -> Response:
    defaults: JsonObject = {"hosts": [*platform.hosts], "scopes": [*platform.scopes]}
    way = None if form is None else form.text("way")
    context = {
        "platform": platform,
        "ways": [
            (name, one, fields_of(one.schema, defaults, form if name == way else None))
            for name, one in _ways(platform).items()
        ],
        "way": way,
        "typed": {name: "" if form is None else form.text(name) for name in ("name", "tools", "needs_placeholder")},
        "marked": () if form is None else form.several("agents"),
        "agents": (await api.call(list_agents, _AGENTS, api.principal, api.dependencies)).data,
        "redirect_uri": redirect_uri(api),
        "message": None if error is None else error.message,
    }
    status = 200 if error is None else error.http_status
    return await shell_page(api, "connection_new.html", _PATH, context, status=status)
