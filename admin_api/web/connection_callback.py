"""/connections/callback: receives the browser after a consent at a platform.

The state is checked by the API: it is known, unused, less than ten minutes old, and this very person's.
"""

from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.connections.platform_routes import callback
from admin_api.connections.schemas import OAuthReturn
from admin_api.pages import see_other
from admin_api.web.api import CurrentApi
from admin_api.web.form import checked
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.kernel.errors import HeadgateError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_MEMBERS: Final = ("state", "code", "error", "error_description", "iss")
_PLATFORM_SAYS: Final[dict[str, Any]] = {
    "parameters": [{"name": "answer", "in": "query", "schema": {"type": "object", "additionalProperties": True}}]
}


@router.get("/connections/callback", response_class=Response, openapi_extra=_PLATFORM_SAYS)
async def come_back(api: CurrentApi) -> Response:
    """Completes a consent. Ignores unknown parameters and refuses repeated ones (RFC 6749, section 3.1)."""
    try:
        values = {name: _once(api.request.query_params.getlist(name), name) for name in _MEMBERS}
        made = await api.call(callback, checked(OAuthReturn, values), api.principal, api.dependencies)
    except HeadgateError as error:
        return await shell_page(api, "connection_refused.html", "/connections", error=error)
    return see_other(f"/connections/{made.id}")


def _once(given: list[str], name: str) -> str | None:
    """Raises ValidationError."""
    if len(given) > 1:
        raise ValidationError(f"{name}: given {len(given)} times", details={"field": name, "reason": "repeated"})
    return given[0] if given else None
