"""/admin/invitations and /admin/users/{id}/roles: an organization's administrators and their own people."""

from fastapi import APIRouter

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import InvitationId, UserId
from admin_api.organizations.members import give_roles, invitations_of, make_invitation, take_back_invitation
from admin_api.organizations.schemas import GrantedRoles, InvitationAnswer, MadeInvitationAnswer, NewInvitation
from admin_api.pagination import CountedPage, CurrentPage
from admin_api.users.schemas import UserAnswer

router = APIRouter(route_class=GuardedRoute, tags=["users"])


@router.put("/admin/users/{id}/roles")
async def give(
    id: UserId,  # noqa: A002 - as everywhere
    body: GrantedRoles,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> UserAnswer:
    """Sets the roles that a person has here in addition to the roles of their token. Applies to sessions immediately,
    to tokens within a minute."""
    return await give_roles(dependencies, principal, principal.org_id, id, body)


@router.get("/admin/invitations", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[InvitationAnswer]:
    """Lists invitations, newest first, including ended ones."""
    return await invitations_of(dependencies, principal.org_id, page)


@router.post("/admin/invitations", status_code=201)
async def invite(
    body: NewInvitation, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> MadeInvitationAnswer:
    """Creates an invitation for a person with this email address. Only this response shows the link."""
    return await make_invitation(dependencies, principal, principal.org_id, body)


@router.delete("/admin/invitations/{id}")
async def take_back(
    id: InvitationId,  # noqa: A002 - as everywhere
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> InvitationAnswer:
    """Revokes an invitation. Its link no longer works. 409 if it was accepted."""
    return await take_back_invitation(dependencies, principal, principal.org_id, id)
