"""/admin/organizations: the operator's: which there are, and who belongs to each."""

from typing import Annotated

from fastapi import APIRouter, Query

from admin_api.change import administer, change_by
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import InvitationId, OrganizationId, UserId
from admin_api.organizations.members import (
    give_roles,
    invitations_of,
    make_invitation,
    require_organization,
    take_back_invitation,
)
from admin_api.organizations.schemas import (
    GrantedRoles,
    InvitationAnswer,
    MadeInvitationAnswer,
    NewInvitation,
    NewOrganization,
    OrganizationAnswer,
    OrganizationsAnswer,
    PrivateDestinations,
    PrivateDestinationsAnswer,
    organization_answer,
    private_destinations_answer,
)
from admin_api.pagination import DEFAULT_LIMIT, MAX_LIMIT, CountedPage, CurrentPage, UncountedPagination
from admin_api.users.members import members_of
from admin_api.users.schemas import UserAnswer
from headgate.organizations.store import get_organization, list_organizations
from headgate.organizations.stored_rules import open_private_destinations, stored_bounds
from headgate.workflows.manage_members import create_organization

router = APIRouter(route_class=GuardedRoute, tags=["organizations"])


@router.get("/admin/organizations")
async def list_all(
    dependencies: CurrentDependencies,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: OrganizationId | None = None,
) -> OrganizationsAnswer:
    """Lists all organizations of this installation."""
    async with dependencies.database.across_organizations() as connection:
        found = await list_organizations(connection, before=cursor, limit=limit)
    return OrganizationsAnswer(
        data=[organization_answer(one) for one in found],
        pagination=UncountedPagination(limit=limit, next_cursor=found[-1].org_id if len(found) == limit else None),
    )


@router.post("/admin/organizations", status_code=201)
async def create(
    body: NewOrganization, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> OrganizationAnswer:
    """Creates an organization with the default policies and without members: invite an administrator."""
    by = change_by(principal, dependencies)
    return organization_answer(await create_organization(dependencies.database, by, body.name))


@router.get("/admin/organizations/{id}")
async def get(id: OrganizationId, dependencies: CurrentDependencies) -> OrganizationAnswer:  # noqa: A002 - as everywhere
    """Gets one organization, with its figures."""
    async with dependencies.database.transaction(id) as connection:
        return organization_answer(await get_organization(connection, id))


@router.get("/admin/organizations/{id}/private-destinations")
async def private_destinations(id: OrganizationId, dependencies: CurrentDependencies) -> PrivateDestinationsAnswer:  # noqa: A002 - as everywhere
    """Gets the private destinations that the organization's allowlist may open."""
    org_id = await require_organization(dependencies, id)
    async with dependencies.database.transaction(org_id) as connection:
        return private_destinations_answer(await stored_bounds(connection, org_id))


@router.put("/admin/organizations/{id}/private-destinations")
async def set_private_destinations(
    id: OrganizationId,  # noqa: A002 - as everywhere
    body: PrivateDestinations,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> PrivateDestinationsAnswer:
    """Replaces the private destinations of an organization. Other private entries of its allowlist have no effect from
    now on."""
    org_id = await require_organization(dependencies, id)
    async with administer(principal, dependencies, org_id) as change:
        await open_private_destinations(change, body.model_dump())
        return private_destinations_answer(await stored_bounds(change.connection, org_id))


@router.get("/admin/organizations/{id}/members", response_model_exclude_unset=True)
async def members(
    id: OrganizationId,  # noqa: A002 - as everywhere
    page: CurrentPage,
    dependencies: CurrentDependencies,
) -> CountedPage[UserAnswer]:
    """Lists the members of an organization with their roles."""
    return await members_of(dependencies, await require_organization(dependencies, id), page)


@router.put("/admin/organizations/{id}/members/{user_id}/roles")
async def give(
    id: OrganizationId,  # noqa: A002 - as everywhere
    user_id: UserId,
    body: GrantedRoles,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> UserAnswer:
    """Sets the roles that a member has in an organization. They are added to the roles of the token."""
    return await give_roles(dependencies, principal, await require_organization(dependencies, id), user_id, body)


@router.get("/admin/organizations/{id}/invitations", response_model_exclude_unset=True)
async def invitations(
    id: OrganizationId,  # noqa: A002 - as everywhere
    page: CurrentPage,
    dependencies: CurrentDependencies,
) -> CountedPage[InvitationAnswer]:
    """Lists the invitations of an organization: open, accepted and revoked."""
    return await invitations_of(dependencies, await require_organization(dependencies, id), page)


@router.post("/admin/organizations/{id}/invitations", status_code=201)
async def invite(
    id: OrganizationId,  # noqa: A002 - as everywhere
    body: NewInvitation,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> MadeInvitationAnswer:
    """Creates an invitation to an organization for a person with this email address. Only this response
    shows the link."""
    return await make_invitation(dependencies, principal, await require_organization(dependencies, id), body)


@router.delete("/admin/organizations/{id}/invitations/{invitation_id}")
async def take_back(
    id: OrganizationId,  # noqa: A002 - as everywhere
    invitation_id: InvitationId,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> InvitationAnswer:
    """Revokes an open invitation to an organization."""
    org_id = await require_organization(dependencies, id)
    return await take_back_invitation(dependencies, principal, org_id, invitation_id)
