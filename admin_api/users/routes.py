"""/admin/users: the people who have signed in, and shutting one out before their tokens run out.

Identity is the issuer's; this is for the meantime. A vote of a deactivated person is refused at once, their tokens
everywhere within a second, and both, with their sessions, stay refused when they are let in again: they sign in anew.
What they decided before stays as it is.
"""

from fastapi import APIRouter

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import UserId
from admin_api.pagination import CountedPage, CurrentPage
from admin_api.users.members import members_of
from admin_api.users.schemas import StandingAnswer, UnlockedAnswer, UserAnswer, standing_answer
from headgate.mfa.unlock import unlock_codes
from headgate.workflows.deactivate_user import deactivate_user, reactivate_user

router = APIRouter(route_class=GuardedRoute, tags=["users"])


@router.get("/admin/users", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[UserAnswer]:
    """Lists users in the order of their first sign-in."""
    return await members_of(dependencies, principal.org_id, page)


@router.post("/admin/users/{id}/deactivate")
async def deactivate(id: UserId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> StandingAnswer:  # noqa: A002 - as everywhere
    """Deactivates a user with every issuer. The user can no longer sign in, vote or act as a delegate. The program keys
    that the user created stop working."""
    async with administer(principal, dependencies) as change:
        return standing_answer(await deactivate_user(change, id))


@router.post("/admin/users/{id}/reactivate")
async def reactivate(id: UserId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> StandingAnswer:  # noqa: A002 - as everywhere
    """Reactivates a user. Nobody can reactivate themselves."""
    async with administer(principal, dependencies) as change:
        return standing_answer(await reactivate_user(change, id))


@router.post("/admin/users/{id}/unlock")
async def unlock(id: UserId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> UnlockedAnswer:  # noqa: A002 - as everywhere
    """Unlocks a user who entered too many wrong codes of a second factor. Nobody can unlock themselves."""
    async with administer(principal, dependencies) as change:
        forgotten = await unlock_codes(change, id)
    return UnlockedAnswer(unlocked=forgotten)
