"""/admin/users/{id}/factors: the second factors of another person, which an administrator can remove."""

from fastapi import APIRouter
from starlette.requests import Request

from admin_api.change import administer
from admin_api.client_address import address_subject
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import UserId
from admin_api.users.schemas import ResetFactorsAnswer, UserFactorsAnswer
from headgate.workflows.reset_factors import factors_of_user, reset_factors

router = APIRouter(route_class=GuardedRoute, tags=["users"])


@router.get("/admin/users/{id}/factors")
async def of_user(id: UserId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> UserFactorsAnswer:  # noqa: A002 - as everywhere
    """Gets the second factors of a user."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await factors_of_user(connection, principal.org_id, id)
    return UserFactorsAnswer(
        managed_by=None if found.are_here else found.issuer,
        authenticator_since=found.authenticator_since,
        passkeys=found.passkeys,
        recovery_codes=found.recovery_codes,
    )


@router.delete("/admin/users/{id}/factors")
async def reset(
    id: UserId,  # noqa: A002 - as everywhere
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> ResetFactorsAnswer:
    """Removes the second factors of a user. Those are the authenticator app, the passkeys and the recovery codes. Also
    signs the user out everywhere. 409 for oneself, for users of an identity provider, and for users without a second
    factor."""
    async with administer(principal, dependencies) as change:
        done = await reset_factors(change, dependencies.vault, id, address=address_subject(request.scope))
    return ResetFactorsAnswer(
        authenticators_removed=done.authenticators,
        passkeys_removed=done.passkeys,
        codes_voided=done.recovery_codes,
        sessions_ended=done.sessions,
    )
