"""Who looks at a health route, where they show a credential: the routes are open, and show the authorised more."""

from typing import Final

from starlette.requests import Request

from admin_api.access import Access, Audience
from admin_api.dependencies import dependencies_of
from admin_api.principal import Principal
from headgate.kernel.errors import ForbiddenError, UnauthorizedError, UnavailableError

_ANYBODY: Final = Access(Audience.AGENTS)
_CREDENTIALS: Final = frozenset((b"authorization", b"x-agent-key"))


async def administrator_of(request: Request) -> Principal | None:
    """Somebody with ``admin:*``; None for everybody else, whatever they show: a probe is never refused."""
    headers = request.scope["headers"]
    if not any(name in _CREDENTIALS for name, _ in headers):
        return None
    try:
        principal = await dependencies_of(request).authenticator.authenticate(headers, _ANYBODY)
    except (UnauthorizedError, ForbiddenError, UnavailableError):
        return None
    return principal if principal.is_admin else None
