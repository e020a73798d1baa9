"""TOTP for people whose tokens Headgate issues: enrol, confirm with a first code, sign in with one, unenrol."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NoReturn

from msgspec import Struct

from headgate.audit.model import EventType
from headgate.db.database import Connection, Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, ForbiddenError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.mfa.attempt_store import count_attempt, forget_attempts
from headgate.mfa.attempts import Counted
from headgate.mfa.closed_sessions import EVERYWHERE, SessionCloser, close_everywhere
from headgate.mfa.code_store import delete_codes
from headgate.mfa.events import ATTEMPTS, tell, tell_refusal
from headgate.mfa.factor_store import Factor, activate_pending, find_factors, lock_factors, put_pending, use_step
from headgate.mfa.model import AssuranceLevel, Attempted, Person
from headgate.mfa.providers.local import forget_factors, secret_name
from headgate.mfa.totp import DIGITS, matching_step, new_secret, provisioning_uri
from headgate.organizations.local_issuer import LOCAL_ISSUER
from headgate.vault.service import Vault

_PENDING_LASTS: Final = timedelta(minutes=10)


class Enrolment(Struct, frozen=True):
    """What an authenticator takes, at the one moment at which it can be shown."""

    secret: Secret
    uri: Secret
    expires_at: datetime


class Unenrolled(Struct, frozen=True):
    factors: int
    codes: int


class LocalTotp:
    """Secrets are in the vault: without its master key nobody enrols or signs in with a code, and all else goes on."""

    def __init__(
        self, database: Database, vault: Vault, clock: Clock, closers: Sequence[SessionCloser] = EVERYWHERE
    ) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock
        self._closers = closers

    async def status(self, person: Person) -> Factor | None:
        """The active one."""
        _require_local(person)
        async with self._database.transaction(person.org_id) as connection:
            factors = await find_factors(connection, person.org_id, person.user_id)
        return next((one for one in factors if one.is_active), None)

    async def enrol(self, person: Person) -> Enrolment:
        """Begin. A second one, in place of the first, needs the first. Raises ForbiddenError, UnavailableError."""
        _require_local(person)
        secret, now = new_secret(), self._clock()
        async with self._database.transaction(person.org_id) as connection:
            factors = await lock_factors(connection, person.org_id, person.user_id)
            if any(one.is_active for one in factors):
                person.require_level(AssuranceLevel.AAL2)
            await self._vault.keep(connection, person.org_id, secret_name(person.user_id, pending=True), secret)
            await put_pending(connection, person.org_id, person.user_id, now)
        uri = provisioning_uri(secret, person.email or person.subject)
        return Enrolment(secret, Secret(uri), now + _PENDING_LASTS)

    async def activate(self, person: Person, code: str) -> None:
        """The first code shows that the authenticator has the secret; other sessions are closed.

        Raises ValidationError, ForbiddenError, ConflictError (nothing was begun), RateLimitedError, UnavailableError.
        """
        now, counted = await self._count(person, code)
        async with self._database.transaction(person.org_id) as connection:
            factors = await lock_factors(connection, person.org_id, person.user_id)
            pending = next((one for one in factors if not one.is_active), None)
            if pending is None or now - pending.created_at >= _PENDING_LASTS:
                raise ConflictError("No enrolment has been started. Start one with POST /v1/mfa/totp/enrol.")
            if any(one.is_active for one in factors):
                person.require_level(AssuranceLevel.AAL2)
            secret = await self._open(connection, person, pending=True)
            step = None if secret is None else matching_step(secret, code, now, None)
            if step is not None and secret is not None:
                await self._vault.keep(connection, person.org_id, secret_name(person.user_id), secret)
                await self._vault.forget(connection, person.org_id, secret_name(person.user_id, pending=True))
                await activate_pending(connection, person.org_id, person.user_id, step, now)
                await close_everywhere(self._closers, connection, person, now)
                await tell(connection, person, EventType.MFA_FACTOR_ENROLLED, now, {"type": "totp"})
                await self._accept(connection, person)
                return
        await self._refuse(person, counted, now)

    async def check(self, person: Person, code: str) -> None:
        """A code of the active factor, once. Raises as ``activate``."""
        now, counted = await self._count(person, code)
        async with self._database.transaction(person.org_id) as connection:
            factors = await find_factors(connection, person.org_id, person.user_id)
            active = next((one for one in factors if one.is_active), None)
            if active is None:
                raise ConflictError("No second factor is enrolled. Enrol one with POST /v1/mfa/totp/enrol.")
            secret = await self._open(connection, person)
            step = None if secret is None else matching_step(secret, code, now, active.last_step)
            if step is not None and await use_step(connection, person.org_id, person.user_id, step):
                await tell(connection, person, EventType.MFA_FACTOR_VERIFIED, now, {"type": "totp"})
                await self._accept(connection, person)
                return
        await self._refuse(person, counted, now)

    async def unenrol(self, person: Person) -> Unenrolled:
        """Factors and recovery codes go together; other sessions are closed. Needs no master key.

        Raises ForbiddenError, UnavailableError.
        """
        _require_local(person)
        person.require_level(AssuranceLevel.AAL2)
        now = self._clock()
        async with self._database.transaction(person.org_id) as connection:
            factors = await forget_factors(connection, self._vault, person.org_id, person.user_id)
            codes = await delete_codes(connection, person.org_id, person.user_id)
            await close_everywhere(self._closers, connection, person, now)
            if factors:
                await tell(connection, person, EventType.MFA_FACTOR_REMOVED, now, {"type": "totp", "removed": factors})
            if codes:
                await tell(connection, person, EventType.MFA_CODES_PURGED, now, {"voided": codes})
        return Unenrolled(factors, codes)

    async def _count(self, person: Person, code: str) -> tuple[datetime, Counted]:
        """Durable before the code is looked at. Raises ValidationError, ForbiddenError, RateLimitedError."""
        _require_local(person)
        if not (code.isascii() and code.isdigit() and len(code) == DIGITS):
            raise ValidationError(f"a code has {DIGITS} digits", details={"field": "code", "reason": "not six digits"})
        now = self._clock()
        async with self._database.transaction(person.org_id) as connection:
            counted = await count_attempt(connection, person, Attempted.TOTP, now)
        return now, counted

    async def _open(self, connection: Connection, person: Person, *, pending: bool = False) -> Secret | None:
        name = secret_name(person.user_id, pending=pending)
        return (await self._vault.open(connection, person.org_id, [name])).get(name)

    async def _accept(self, connection: Connection, person: Person) -> None:
        await forget_attempts(connection, person, Attempted.TOTP)
        ATTEMPTS.labels(Attempted.TOTP.value, "accepted").inc()

    async def _refuse(self, person: Person, counted: Counted, at: datetime) -> NoReturn:
        """Raises ValidationError."""
        async with self._database.transaction(person.org_id) as connection:
            await tell_refusal(connection, person, Attempted.TOTP, counted, at)
        raise ValidationError(
            "the code is wrong, expired or already used", details={"field": "code", "reason": "wrong or used"}
        )


def _require_local(person: Person) -> None:
    """Raises ForbiddenError."""
    if person.issuer != LOCAL_ISSUER:
        raise ForbiddenError(f"{person.issuer} manages the second factor of this person. Enroll it there.")
