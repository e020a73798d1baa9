"""Who looks at a health route, where they show a credential: the routes are open, and show the authorised more."""

from typing import Final

from msgspec import Struct
from starlette.requests import Request

from admin_api.access import Access, Audience
from admin_api.dependencies import dependencies_of
from admin_api.principal import Principal
from headgate.agents.scopes import Scope
from headgate.kernel.errors import ForbiddenError, UnauthorizedError, UnavailableError
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID

_ANYBODY: Final = Access(Audience.AGENTS)
_CREDENTIALS: Final = frozenset((b"authorization", b"x-agent-key"))


class Viewer(Struct, frozen=True):
    """``administered``: the organization whose stops and breakers are shown, None: none's. ``is_operator``: figures and
    warnings of the installation are shown, which are over all organizations."""

    administered: str | None = None
    is_operator: bool = False


_NOBODY: Final = Viewer()


async def viewer_of(request: Request) -> Viewer:
    """Whoever shows no credential, or one that is refused, is nobody: a probe is never refused."""
    headers = request.scope["headers"]
    if not any(name in _CREDENTIALS for name, _ in headers):
        return _NOBODY
    try:
        principal = await dependencies_of(request).authenticator.authenticate(headers, _ANYBODY)
    except (UnauthorizedError, ForbiddenError, UnavailableError):
        return _NOBODY
    return Viewer(principal.org_id if principal.is_admin else None, _is_operator(principal))


def _is_operator(principal: Principal) -> bool:
    """``operator:*``, or ``admin:*`` of the organization with which the installation began: it is the operator's own,
    and on most installations nobody else has a role."""
    is_of_first = principal.is_admin and principal.org_id == DEFAULT_ORGANIZATION_ID
    return Scope.OPERATOR in principal.scopes or is_of_first
