"""/admin/organizations: the operator's: which there are, and who belongs to each."""

from typing import Annotated

from fastapi import APIRouter, Query

from admin_api.change import change_by
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.organizations.members import (
    give_roles,
    invitations_of,
    make_invitation,
    members_of,
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
    organization_answer,
)
from admin_api.pagination import DEFAULT_LIMIT, MAX_LIMIT, CurrentPage, Page, Pagination, UncountedPagination
from admin_api.users.schemas import UserAnswer
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.organizations.store import find_organization, list_organizations
from headgate.workflows.manage_members import create_organization

router = APIRouter(route_class=GuardedRoute, tags=["organizations"])


@router.get("/admin/organizations")
async def list_all(
    dependencies: CurrentDependencies,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
) -> OrganizationsAnswer:
    """Every organization of this installation."""
    before = None if cursor is None else parse_id(IdPrefix.ORGANIZATION, cursor)
    async with dependencies.database.across_organizations() as connection:
        found = await list_organizations(connection, before=before, limit=limit)
    return OrganizationsAnswer(
        data=[organization_answer(one) for one in found],
        pagination=UncountedPagination(limit=limit, next_cursor=found[-1].org_id if len(found) == limit else None),
    )


@router.post("/admin/organizations", status_code=201)
async def create(
    body: NewOrganization, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> OrganizationAnswer:
    """A new organization with the default policies and nobody in it: invite an administrator."""
    change = change_by(principal, dependencies)
    return organization_answer(await create_organization(dependencies.database, change, body.name, dependencies.clock))


@router.get("/admin/organizations/{id}")
async def get(id: str, dependencies: CurrentDependencies) -> OrganizationAnswer:  # noqa: A002 - as everywhere
    """One organization, with its figures."""
    org_id = parse_id(IdPrefix.ORGANIZATION, id)
    async with dependencies.database.transaction(org_id) as connection:
        organization = await find_organization(connection, org_id)
    if organization is None:
        raise NotFoundError(f"there is no organization {org_id}")
    return organization_answer(organization)


@router.get("/admin/organizations/{id}/members", response_model_exclude_unset=True)
async def members(id: str, page: CurrentPage, dependencies: CurrentDependencies) -> Page[UserAnswer, Pagination]:  # noqa: A002 - as everywhere
    """Who belongs to an organization, and with which roles."""
    return await members_of(dependencies, await require_organization(dependencies, id), page)


@router.put("/admin/organizations/{id}/members/{user_id}/roles")
async def give(
    id: str,  # noqa: A002 - as everywhere
    user_id: str,
    body: GrantedRoles,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> UserAnswer:
    """The roles that a person has there besides those of their token."""
    return await give_roles(dependencies, principal, await require_organization(dependencies, id), user_id, body)


@router.get("/admin/organizations/{id}/invitations", response_model_exclude_unset=True)
async def invitations(
    id: str,  # noqa: A002 - as everywhere
    page: CurrentPage,
    dependencies: CurrentDependencies,
) -> Page[InvitationAnswer, Pagination]:
    """Those that are open, were accepted or taken back."""
    return await invitations_of(dependencies, await require_organization(dependencies, id), page)


@router.post("/admin/organizations/{id}/invitations", status_code=201)
async def invite(
    id: str,  # noqa: A002 - as everywhere
    body: NewInvitation,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> MadeInvitationAnswer:
    """An address for whoever proves this e-mail; it is shown in this answer and never again."""
    return await make_invitation(dependencies, principal, await require_organization(dependencies, id), body)


@router.delete("/admin/organizations/{id}/invitations/{invitation_id}")
async def take_back(
    id: str,  # noqa: A002 - as everywhere
    invitation_id: str,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> InvitationAnswer:
    """An invitation that nobody has accepted ends."""
    org_id = await require_organization(dependencies, id)
    return await take_back_invitation(dependencies, principal, org_id, invitation_id)
