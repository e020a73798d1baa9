"""An administrator lets somebody guess again who was locked out: in the caller's transaction, on record.

Whoever has a first factor can send wrong codes, and from enough places lock its owner out with them (OWASP,
Authentication Cheat Sheet, "Account Lockout"): the owner needs a way back that the thief has not. Nobody unlocks
themselves, since a thief with an administrator's first factor would go on guessing for ever.
"""

from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError
from headgate.mfa.attempt_store import forget_all_attempts
from headgate.mfa.model import Attempted
from headgate.organizations.change import OrganizationChange
from headgate.organizations.store import find_users_by_email, get_user


async def unlock_codes(change: OrganizationChange, user_id: str) -> list[Attempted]:
    """Answers what had been guessed at; nothing: there was no lock. Raises NotFoundError, ConflictError (oneself)."""
    user = await get_user(change.connection, change.org_id, user_id)
    same = [] if user.email is None else await find_users_by_email(change.connection, change.org_id, user.email)
    if change.user_id in {user_id, *(one.user_id for one in same)}:
        raise ConflictError("You cannot unlock yourself. Another administrator can.")
    forgotten = await forget_all_attempts(change.connection, change.org_id, user_id)
    if forgotten:
        told: JsonObject = {"user_id": user_id, "email": user.email, "attempted": [one.value for one in forgotten]}
        await change.record(EventType.MFA_UNLOCKED, told)
    return forgotten
