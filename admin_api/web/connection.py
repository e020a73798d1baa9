"""/connections/{id}: shows the health, test, use, agents and tools of one connection, and deletes it."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.agents.routes import list_all as list_agents
from admin_api.connections.answers import ConnectionTestAnswer
from admin_api.connections.platform_routes import initiate
from admin_api.connections.routes import delete, get, health, refresh, test, update, usage
from admin_api.connections.schemas import ChangedConnection, OAuthStart
from admin_api.identifiers import ConnectionId
from admin_api.pagination import ListRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.connection_new import redirect_uri
from admin_api.web.form import checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import back_to
from admin_api.web.shell import shell_page
from headgate.kernel.errors import HeadgateError, NotFoundError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/connections"
_AGENTS: Final = ListRequest(200, 0, exact_total=False, camel=False, cursor=None)
_DAYS: Final = 30


@router.get("/connections/{connection_id}", response_class=Response)
async def one(api: CurrentApi, connection_id: ConnectionId) -> Response:
    return await _page(api, connection_id)


@router.post("/connections/{connection_id}", response_class=Response)
async def change(api: CurrentApi, connection_id: ConnectionId) -> Response:
    """Tests, refreshes, reconsents, binds or deletes a connection."""
    form, principal, dependencies = await form_of(api.request), api.principal, api.dependencies
    try:
        match form.text("act"):
            case "test":
                tested = await api.call(test, connection_id, principal, dependencies)
                return await _page(api, connection_id, tested=tested)
            case "refresh":
                await api.call(refresh, connection_id, principal, dependencies)
            case "consent":
                shown = await api.call(get, connection_id, Response(), principal, dependencies)
                values = {"platform": shown.platform, "redirect_uri": redirect_uri(api), "connection_id": connection_id}
                begun = await api.call(initiate, checked(OAuthStart, values), principal, dependencies)
                return await shell_page(
                    api, "connection_consent.html", _PATH, {"begun": begun, "platform": None}, status=201
                )
            case "bind":
                tools = [line.strip() for line in form.text("tools").splitlines() if line.strip()]
                binding = {
                    "agents": list(form.several("agents")),
                    "tools": tools,
                    "needs_placeholder": form.text("needs_placeholder") == "true",
                }
                body, version = checked(ChangedConnection, binding), form.optional("version")
                await api.call(update, connection_id, body, Response(), principal, dependencies, version)
            case "delete":
                await api.call(delete, connection_id, principal, dependencies)
                return back_to(_PATH)
            case other:
                raise ValidationError(f"Unknown action {other[:32]!r}. Use a form button.")
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _page(api, connection_id, error=error)
    return back_to(f"{_PATH}/{connection_id}")


async def _page(
    api: Api,
    connection_id: str,
    *,
    tested: ConnectionTestAnswer | None = None,
    error: HeadgateError | None = None,
) -> Response:
    principal, dependencies, response = api.principal, api.dependencies, Response()
    agents = (await api.call(list_agents, _AGENTS, principal, dependencies)).data
    context = {
        "connection": await api.call(get, connection_id, response, principal, dependencies),
        "version": response.headers["etag"],
        "health": await api.call(health, connection_id, principal, dependencies),
        "usage": await api.call(usage, connection_id, principal, dependencies, days=_DAYS),
        "agents": agents,
        "names": {one.id: one.name for one in agents},
        "tested": tested,
        "message": None if error is None else error.message,
    }
    status = 200 if error is None else error.http_status
    return await shell_page(api, "connection.html", _PATH, context, status=status)
