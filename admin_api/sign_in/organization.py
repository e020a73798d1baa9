"""Which organization somebody signs in to: invited to it, named by their provider, or a member of it."""

from collections.abc import Mapping

from admin_api.dependencies import Dependencies
from admin_api.services.browser_login import FinishedLogin
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.store import memberships
from headgate.workflows.manage_members import accept_invitation, find_open_invitation


async def organization_of(dependencies: Dependencies, finished: FinishedLogin) -> str | Mapping[str, str]:
    """Its id; or several, by their ids, between which the person has to choose. An invitation is accepted on the way.

    Raises ForbiddenError, UnauthorizedError (an issuer that does not speak for it).
    """
    login, wanted = finished.login, finished.wanted
    if wanted.invitation_hash is not None:
        invitation = await find_open_invitation(dependencies.database, wanted.invitation_hash, dependencies.clock())
        token = login.in_organization(invitation.org_id)
        await accept_invitation(
            dependencies.database, invitation, token.identity, dependencies.clock, stated_at=token.stated_at
        )
        return invitation.org_id
    async with dependencies.database.across_organizations() as connection:
        member_of = await memberships(connection, login.issuer.issuer, login.subject)
    named = login.organization
    if wanted.organization is not None:
        if wanted.organization != named and wanted.organization not in member_of:
            raise ForbiddenError("You are not a member of this organization.")
        return wanted.organization
    if named is not None:
        return named
    if not member_of:
        raise ForbiddenError(
            "Your identity provider names no organization for you, and you have "
            "no invitation. Ask an administrator for an invitation."
        )
    return next(iter(member_of)) if len(member_of) == 1 else member_of
