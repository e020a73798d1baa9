"""A person decides without an identity provider's credential (link, chat or tracker), as the user mapped to them.

Their rights are those of their newest token, and it must be recent. A person who has left the identity provider cannot
sign in, so they lose the right to decide even if the provider sends no deprovisioning. The operator sets the limit; the
default is the longest reauthentication interval of NIST SP 800-63B-4, section 2.1.3 (30 days at AAL1).
"""

from datetime import datetime, timedelta
from typing import Final

from headgate.agents.scopes import Scope, scopes_of_roles
from headgate.approvals.voting import Voter
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.model import User
from headgate.organizations.service import require_active

DEFAULT_TRUST: Final = timedelta(days=30)


def mapped_voter(user: User, *, now: datetime, trust: timedelta) -> Voter:
    """``trust``: how long after a sign-in the person may decide. Raises ForbiddenError with a text for that person."""
    require_active(user.user_id, user.deactivated_at)
    scopes = scopes_of_roles(user.roles)
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
