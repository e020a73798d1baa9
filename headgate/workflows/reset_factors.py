"""An administrator removes the second factors of a person who lost them, or from whom they were stolen.

One transaction removes the authenticator app, the recovery codes, the passkeys, the locks of wrong codes, and all
sessions. Afterwards the first factor alone signs the person in. So administrators cannot reset their own factors: a
thief with an administrator's first factor would remove the second (OWASP, Multifactor Authentication Cheat Sheet,
"Resetting MFA").
"""

from datetime import datetime

from msgspec import Struct

from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError
from headgate.mfa.attempt_store import forget_all_attempts
from headgate.mfa.code_store import code_status, delete_codes
from headgate.mfa.factor_store import find_factors
from headgate.mfa.providers.local import forget_factors
from headgate.organizations.change import OrganizationChange
from headgate.organizations.local_issuer import LOCAL_ISSUER
from headgate.organizations.store import find_users_by_email, get_user
from headgate.passkeys.store import delete_passkeys, list_passkeys
from headgate.vault.service import Vault
from headgate.workflows.deactivate_user import sign_out_everywhere


class FactorsOfUser(Struct, frozen=True):
    """The factors that Headgate keeps. Another ``issuer`` than Headgate keeps its people's factors itself."""

    issuer: str
    authenticator_since: datetime | None
    passkeys: int
    recovery_codes: int

    @property
    def are_here(self) -> bool:
        return self.issuer == LOCAL_ISSUER


class ResetFactors(Struct, frozen=True):
    """What was removed and ended."""

    authenticators: int
    passkeys: int
    recovery_codes: int
    sessions: int


async def factors_of_user(connection: Connection, org_id: str, user_id: str) -> FactorsOfUser:
    """Raises NotFoundError."""
    user = await get_user(connection, org_id, user_id)
    factors = await find_factors(connection, org_id, user_id)
    return FactorsOfUser(
        issuer=user.issuer,
        authenticator_since=next((one.activated_at for one in factors if one.is_active), None),
        passkeys=len(await list_passkeys(connection, org_id, user_id)),
        recovery_codes=(await code_status(connection, org_id, user_id)).unused,
    )


async def reset_factors(change: OrganizationChange, vault: Vault, user_id: str, *, address: str | None) -> ResetFactors:
    """Needs no master key. Raises NotFoundError, ConflictError (oneself; factors that an identity provider keeps; a
    user without any)."""
    user = await get_user(change.connection, change.org_id, user_id)
    same = [] if user.email is None else await find_users_by_email(change.connection, change.org_id, user.email)
    if change.user_id in {user_id, *(one.user_id for one in same)}:
        raise ConflictError("You cannot reset your own second factors. Another administrator can.")
    if user.issuer != LOCAL_ISSUER:
        raise ConflictError(f"{user.issuer} manages the second factors of this user. Reset them there.")
    authenticators = await forget_factors(change.connection, vault, change.org_id, user_id)
    passkeys = await delete_passkeys(change.connection, change.org_id, user_id)
    codes = await delete_codes(change.connection, change.org_id, user_id)
    if not (authenticators or passkeys or codes):
        raise ConflictError("This user has no second factor.")
    await forget_all_attempts(change.connection, change.org_id, user_id)
    sessions = await sign_out_everywhere(change, user_id, address=address)
    whose: JsonObject = {"user_id": user_id, "email": user.email}
    if authenticators:
        await change.record(EventType.MFA_FACTOR_REMOVED, {**whose, "type": "totp", "removed": authenticators})
    for passkey_id in passkeys:
        await change.record(EventType.PASSKEY_REMOVED, {**whose, "passkey_id": passkey_id})
    if codes:
        await change.record(EventType.MFA_CODES_PURGED, {**whose, "voided": codes})
    return ResetFactors(authenticators, len(passkeys), codes, len(sessions))
