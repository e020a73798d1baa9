"""Somebody decides without a credential of their provider's: through a link, a chat or a tracker, as the user to whom
that is mapped. Their rights are those of their newest token, and it must be one of late: who has left a provider, where
nobody has told Headgate, signs in no more, and so decides no more. How late is the operator's choice; the default is
when a person is authenticated anew at the latest by NIST SP 800-63B-4, section 2.1.3 (30 days at AAL1).
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
    """``trust``: for how long after a person has signed in. Raises ForbiddenError, in words for that person."""
    require_active(user.user_id, user.deactivated_at)
    scopes = scopes_of_roles(user.roles)
    if not scopes & {Scope.APPROVALS_WRITE, Scope.ADMIN}:
        raise ForbiddenError("You may not decide approvals.")
    if user.last_seen_at is None or now - user.last_seen_at > trust:
        since = "never" if user.last_seen_at is None else f"last on {user.last_seen_at:%Y-%m-%d}"
        raise ForbiddenError(
            f"You have signed in to Headgate {since}, which is too long ago to decide from here: sign in"
            " (/auth/login), and then decide.",
            details={"user_id": user.user_id},
        )
    return Voter(user_id=user.user_id, email=user.email, name=user.name, is_admin=Scope.ADMIN in scopes)
