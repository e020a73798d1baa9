"""/auth/session and /auth/sessions: a person's own; /admin/users/{id}/sessions: an administrator's view of them."""

from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request

from admin_api.change import administer
from admin_api.client_address import address_subject
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import SessionId, UserId
from admin_api.mfa.person import CurrentPerson
from admin_api.principal import Principal
from admin_api.sessions.schemas import (
    EndedAnswer,
    OwnOrganizationAnswer,
    OwnOrganizationsAnswer,
    SessionsAnswer,
    WhoAnswer,
    session_answer,
    who_answer,
)
from headgate.kernel.errors import NotFoundError
from headgate.organizations.store import get_user, memberships
from headgate.sessions.service import EndReason, close_sessions
from headgate.sessions.store import live_sessions
from headgate.workflows.deactivate_user import sign_out_everywhere

router = APIRouter(route_class=GuardedRoute, tags=["sessions"])


@router.get("/auth/session")
async def who(principal: CurrentPrincipal) -> WhoAnswer:
    """Gets the caller's identity and scopes."""
    return who_answer(principal)


@router.get("/auth/session/organizations")
async def other_organizations(person: CurrentPerson, dependencies: CurrentDependencies) -> OwnOrganizationsAnswer:
    """Lists the other organizations that the caller is a member of, at most 100. Empty if the caller signs in without
    an identity provider."""
    login = dependencies.browser_login
    if login is None or person.issuer not in login.providers:
        return OwnOrganizationsAnswer(data=[])
    async with dependencies.database.across_organizations() as connection:
        found = await memberships(connection, person.issuer, person.subject)
    return OwnOrganizationsAnswer(
        data=[
            OwnOrganizationAnswer(
                id=org_id,
                name=name,
                sign_in_path="/auth/login?" + urlencode({"issuer": person.issuer, "organization": org_id}),
            )
            for org_id, name in found.items()
            if org_id != person.org_id
        ]
    )


@router.get("/auth/sessions")
async def own(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> SessionsAnswer:
    """Lists the caller's sessions."""
    return await _sessions(dependencies, principal, principal.user_id or "")


@router.delete("/auth/sessions")
async def end_others(request: Request, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> EndedAnswer:
    """Ends all of the caller's sessions except the current one."""
    return await _end(request, dependencies, principal, principal.user_id or "", but=principal.session_id)


@router.delete("/auth/sessions/{id}")
async def end_own(
    id: SessionId,  # noqa: A002 - as everywhere
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> EndedAnswer:
    """Ends one of the caller's sessions."""
    return await _end_one(request, dependencies, principal, principal.user_id or "", id)


@router.get("/admin/users/{id}/sessions")
async def of_user(id: UserId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> SessionsAnswer:  # noqa: A002 - as everywhere
    """Lists the sessions of a user."""
    return await _sessions(dependencies, principal, await _existing(dependencies, principal, id))


@router.delete("/admin/users/{id}/sessions")
async def end_all_of_user(
    id: UserId,  # noqa: A002 - as everywhere
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> EndedAnswer:
    """Signs a user out everywhere. All tokens that were issued until now are refused, too. The user can sign in again:
    to prevent this, deactivate the user."""
    async with administer(principal, dependencies) as change:
        user = await get_user(change.connection, change.org_id, id)
        ended = await sign_out_everywhere(change, user.user_id, address=address_subject(request.scope))
    return EndedAnswer(ended=ended)


@router.delete("/admin/users/{id}/sessions/{session_id}")
async def end_one_of_user(
    id: UserId,  # noqa: A002 - as everywhere
    session_id: SessionId,
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> EndedAnswer:
    """Ends one browser session of a user."""
    user_id = await _existing(dependencies, principal, id)
    return await _end_one(request, dependencies, principal, user_id, session_id)


async def _sessions(dependencies: Dependencies, principal: Principal, user_id: str) -> SessionsAnswer:
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await live_sessions(
            connection, principal.org_id, user_id, dependencies.clock(), dependencies.session_limits
        )
    return SessionsAnswer(data=[session_answer(one, principal) for one in found])


async def _end_one(
    request: Request, dependencies: Dependencies, principal: Principal, user_id: str, session_id: str
) -> EndedAnswer:
    answer = await _end(request, dependencies, principal, user_id, only=session_id)
    if not answer.ended:
        raise NotFoundError(f"No active session {session_id}")
    return answer


async def _end(
    request: Request,
    dependencies: Dependencies,
    principal: Principal,
    user_id: str,
    *,
    only: str | None = None,
    but: str | None = None,
) -> EndedAnswer:
    async with dependencies.database.transaction(principal.org_id) as connection:
        ended = await close_sessions(
            connection,
            principal.actor,
            principal.org_id,
            user_id,
            at=dependencies.clock(),
            reason=EndReason.REVOKED,
            address=address_subject(request.scope),
            only=only,
            but=but,
        )
    return EndedAnswer(ended=ended)


async def _existing(dependencies: Dependencies, principal: Principal, user_id: str) -> str:
    async with dependencies.database.transaction(principal.org_id) as connection:
        return (await get_user(connection, principal.org_id, user_id)).user_id
