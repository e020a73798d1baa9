"""A person decides without an identity provider's credential (link, chat or tracker), as the user mapped to them.

Their rights are those of their newest token, and it must be recent. A person who has left the identity provider cannot
sign in, so they lose the right to decide even if the provider sends no deprovisioning. The operator sets the limit; the
default is the longest reauthentication interval of NIST SP 800-63B-4, section 2.1.3 (30 days at AAL1).
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from headgate.agents.scopes import Scope, scopes_of_roles
from headgate.approvals.voting import Voter
from headgate.kernel.errors import ForbiddenError, UnauthorizedError
from headgate.organizations.model import Role, User
from headgate.organizations.service import require_active

DEFAULT_TRUST: Final = timedelta(days=30)

type RolesNow = Callable[[str, str, frozenset[Role]], frozenset[Role]]
"""What is left of the roles that an issuer once gave in an organization: ``(org_id, issuer, roles)``. Raises
UnauthorizedError: the issuer is not trusted any more, or not with this organization."""


def no_issuer(org_id: str, issuer: str, roles: frozenset[Role]) -> frozenset[Role]:
    """``RolesNow`` of a process that knows no issuers, so that nobody decides through it unchecked."""
    raise UnauthorizedError(f"{issuer} is not trusted here with the people of {org_id} ({len(roles)} roles).")


def mapped_voter(user: User, *, now: datetime, trust: timedelta, roles_now: RolesNow) -> Voter:
    """``trust``: how long after a sign-in the person may decide. Raises ForbiddenError with a text for that person."""
    require_active(user.user_id, user.deactivated_at)
    try:
        scopes = scopes_of_roles(roles_now(user.org_id, user.issuer, user.roles))
    except UnauthorizedError as error:
        raise ForbiddenError(
            "The identity provider of your account is no longer trusted here. Sign in at /auth/login through another.",
            details={"user_id": user.user_id},
        ) from error
    if not scopes & {Scope.APPROVALS_WRITE, Scope.ADMIN}:
        raise ForbiddenError("You may not decide approvals.")
    if user.last_seen_at is None or now - user.last_seen_at > trust:
        last = (
            "You have never signed in to Headgate"
            if user.last_seen_at is None
            else f"Your last sign-in to Headgate, on {user.last_seen_at:%Y-%m-%d}, is too long ago to decide from here"
        )
        raise ForbiddenError(
            f"{last}. Sign in at /auth/login, then decide.",
            details={"user_id": user.user_id},
        )
    return Voter(user_id=user.user_id, email=user.email, name=user.name, is_admin=Scope.ADMIN in scopes)
