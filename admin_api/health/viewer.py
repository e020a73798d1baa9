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
    """``administered``: the organization whose stops and breakers the viewer sees; None: of no organization.
    ``is_operator``: the viewer sees figures and warnings of the installation, which cover all organizations."""

    administered: str | None = None
    is_operator: bool = False


_WITHOUT_RIGHTS: Final = Viewer()


async def viewer_of(request: Request) -> Viewer:
    """The rights of the request's credential. A request without one, or with one that is refused, has no rights, but is
    answered: probes have no credential."""
    headers = request.scope["headers"]
    if not any(name in _CREDENTIALS for name, _ in headers):
        return _WITHOUT_RIGHTS
    try:
        principal = await dependencies_of(request).authenticator.authenticate(headers, _ANYBODY)
    except (UnauthorizedError, ForbiddenError, UnavailableError):
        return _WITHOUT_RIGHTS
    return Viewer(principal.org_id if principal.is_admin else None, _is_operator(principal))


def _is_operator(principal: Principal) -> bool:
    """Whether the credential has ``operator:*``, or ``admin:*`` in the organization with which the installation began:
    it is the operator's own, and on most installations the only one."""
    is_of_first = principal.is_admin and principal.org_id == DEFAULT_ORGANIZATION_ID
    return Scope.OPERATOR in principal.scopes or is_of_first
