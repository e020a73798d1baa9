"""/connections: the credentials that calls carry and agents never see; their state, test, refresh, removal."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.connections.routes import delete, list_all, refresh, test
from admin_api.identifiers import ConnectionId
from admin_api.pagination import PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.kernel.errors import HeadgateError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/connections"
_AT_ONCE: Final = 100


@router.get(_PATH, response_class=Response)
async def connections(api: CurrentApi) -> Response:
    return await _page(api)


@router.post("/connections/{connection_id}", response_class=Response)
async def change(api: CurrentApi, connection_id: ConnectionId) -> Response:
    """Test, refresh or remove it."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "test":
                found = await api.call(test, connection_id, api.principal, api.dependencies)
                return await _page(api, done=f"{connection_id}: {found.outcome.value}. {found.message or ''}")
            case "refresh":
                await api.call(refresh, connection_id, api.principal, api.dependencies)
            case "delete":
                await api.call(delete, connection_id, api.principal, api.dependencies)
            case other:
                raise ValidationError(f"The form asks for {other[:32]!r}, which is none of its buttons.")
    except HeadgateError as error:
        return await _page(api, message=error.message, status=error.http_status)
    return Response(status_code=303, headers={"Location": _PATH})


async def _page(api: Api, *, done: str | None = None, message: str | None = None, status: int = 200) -> Response:
    page = PageRequest(_AT_ONCE, 0, exact_total=False, camel=False)
    found = await api.call(list_all, page, api.principal, api.dependencies)
    context = {"connections": found.data, "done": done, "message": message}
    return await shell_page(api, "connections.html", _PATH, context, status=status)
