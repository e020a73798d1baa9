"""What is done with an organization's people: by its own administrators, and by the operator in any organization."""

from datetime import timedelta

from admin_api.change import administer
from admin_api.dependencies import Dependencies
from admin_api.organizations.schemas import (
    GrantedRoles,
    InvitationAnswer,
    MadeInvitationAnswer,
    NewInvitation,
    invitation_answer,
)
from admin_api.pagination import CountedPage, PageRequest, counted_page
from admin_api.passkeys.available import invitation_address
from admin_api.principal import Principal
from admin_api.users.schemas import UserAnswer, user_answer
from headgate.kernel.secrets import Secret
from headgate.notifications.mail_invitation import queue_invitation_mail
from headgate.organizations.invitations import list_invitations
from headgate.organizations.store import get_organization
from headgate.workflows.manage_members import grant_roles, invite, revoke_invitation


async def require_organization(dependencies: Dependencies, org_id: str) -> str:
    """Its id. Raises NotFoundError."""
    async with dependencies.database.transaction(org_id) as connection:
        return (await get_organization(connection, org_id)).org_id


async def give_roles(
    dependencies: Dependencies, principal: Principal, org_id: str, user_id: str, body: GrantedRoles
) -> UserAnswer:
    async with administer(principal, dependencies, org_id) as change:
        return user_answer(await grant_roles(change, user_id, body.parsed()))


async def invitations_of(dependencies: Dependencies, org_id: str, page: PageRequest) -> CountedPage[InvitationAnswer]:
    async with dependencies.database.transaction(org_id) as connection:
        found, total = await list_invitations(
            connection, org_id, limit=page.limit, offset=page.offset, exact_total=page.exact_total
        )
    now = dependencies.clock()
    return counted_page(page, [invitation_answer(one, now) for one in found], total.total, is_minimum=total.is_minimum)


async def make_invitation(
    dependencies: Dependencies, principal: Principal, org_id: str, body: NewInvitation
) -> MadeInvitationAnswer:
    async with administer(principal, dependencies, org_id) as change:
        made = await invite(change, body.email, body.parsed_roles(), timedelta(hours=body.expires_in_hours))
        secret = made.secret.reveal()
        address = invitation_address(dependencies, secret)
        mailed_by = await queue_invitation_mail(change, made.invitation, Secret(address), dependencies.vault)
    return MadeInvitationAnswer(
        **dict(invitation_answer(made.invitation, change.at)), secret=secret, address=address, mailed_by=mailed_by
    )


async def take_back_invitation(
    dependencies: Dependencies, principal: Principal, org_id: str, invitation_id: str
) -> InvitationAnswer:
    async with administer(principal, dependencies, org_id) as change:
        revoked = await revoke_invitation(change, invitation_id)
    return invitation_answer(revoked, change.at)
