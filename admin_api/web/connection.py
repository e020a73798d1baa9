"""/connections/{id}: shows the health, test, use, agents and tools of one connection, and deletes it."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.connections.answers import ConnectionTestAnswer
from admin_api.connections.platform_routes import initiate
from admin_api.connections.routes import delete, get, health, refresh, test, update, usage
from admin_api.connections.schemas import ChangedConnection, OAuthStart
from admin_api.identifiers import ConnectionId
from admin_api.pages import see_other
from admin_api.web.api import Api, CurrentApi
from admin_api.web.connection_parts import bindable_agents, binding_of, consent_page, redirect_uri
from admin_api.web.connection_ways import SECRETS
from admin_api.web.form import checked, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.schema_form import document_of, fields_of
from admin_api.web.shell import shell_page
from headgate.connections.model import ConnectionKind
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import HeadgateError, NotFoundError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/connections"
_DAYS: Final = 30


@router.get("/connections/{connection_id}", response_class=Response)
async def one(api: CurrentApi, connection_id: ConnectionId) -> Response:
    return await _page(api, connection_id)


@router.post("/connections/{connection_id}", response_class=Response)
async def change(api: CurrentApi, connection_id: ConnectionId) -> Response:
    """Tests, refreshes, reconsents, bind, give it another credential, or deletes a connection."""
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
                return await consent_page(api, begun, shown.platform)
            case "bind":
                body, version = checked(ChangedConnection, binding_of(form)), form.optional("version")
                await api.call(update, connection_id, body, Response(), principal, dependencies, version)
            case "replace":
                kind = (await api.call(get, connection_id, Response(), principal, dependencies)).kind
                given = document_of(_credential(kind), form)
                body, version = checked(ChangedConnection, {"credentials": given}), form.optional("version")
                await api.call(update, connection_id, body, Response(), principal, dependencies, version)
            case "delete":
                await api.call(delete, connection_id, principal, dependencies)
                return see_other(_PATH)
            case other:
                raise no_such_button(other)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _page(api, connection_id, error=error)
    return see_other(f"{_PATH}/{connection_id}")


def _credential(kind: str) -> JsonObject:
    """What replaces the credential; without members where only its owner can, by consent."""
    return {"properties": SECRETS.get(ConnectionKind(kind), {})}


async def _page(
    api: Api,
    connection_id: str,
    *,
    tested: ConnectionTestAnswer | None = None,
    error: HeadgateError | None = None,
) -> Response:
    principal, dependencies, response = api.principal, api.dependencies, Response()
    agents = await bindable_agents(api)
    connection = await api.call(get, connection_id, response, principal, dependencies)
    context = {
        "connection": connection,
        "credential": fields_of(_credential(connection.kind), {}),
        "version": response.headers["etag"],
        "health": await api.call(health, connection_id, principal, dependencies),
        "usage": await api.call(usage, connection_id, principal, dependencies, days=_DAYS),
        "agents": agents,
        "names": {one.id: one.name for one in agents},
        "tested": tested,
    }
    return await shell_page(api, "connection.html", _PATH, context, error=error)
