"""Recovery codes: making, counting, using and purging them.

Using one goes through four steps, so that no database connection waits for Argon2 or for an identity provider, and so
that a process which dies in between costs the person nothing: the attempt is counted; the code is hashed; of any number
of verifications with it one claims it; the factors are removed where they are kept; the code is marked as used, and the
person's other tokens are refused from then on. A claim that nobody ended is void after a minute, and what was removed
already is removed again without harm.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.audit.model import EventType
from headgate.db.database import Database
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, HeadgateError, UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.mfa.attempt_store import count_attempt, forget_attempts
from headgate.mfa.attempts import Counted
from headgate.mfa.closed_sessions import EVERYWHERE, SessionCloser, close_everywhere
from headgate.mfa.code_store import (
    Batch,
    claim_code,
    code_status,
    delete_codes,
    find_batch,
    release_code,
    replace_codes,
    use_code,
)
from headgate.mfa.codes import new_codes, parse_code
from headgate.mfa.events import ATTEMPTS, tell, tell_refusal
from headgate.mfa.hashing import Hasher, new_salt
from headgate.mfa.model import AssuranceLevel, Attempted, CodeStatus, Person
from headgate.mfa.providers.model import FactorProvider

_CLAIM_LASTS: Final = timedelta(minutes=1)
"""Longer than a verification takes: the provider's deadlines end before."""


class Recovered(Struct, frozen=True):
    """``codes_voided``: other codes that had not been used."""

    factors_removed: int
    codes_voided: int


class NewCodes(Struct, frozen=True):
    """At the one moment at which they can be shown."""

    codes: list[Secret]
    generated_at: datetime


class RecoveryCodes:
    """``providers`` by issuer: who keeps the factors of the people whose tokens it issues."""

    def __init__(
        self,
        database: Database,
        hasher: Hasher,
        providers: Mapping[str, FactorProvider],
        clock: Clock,
        closers: Sequence[SessionCloser] = EVERYWHERE,
    ) -> None:
        self._database = database
        self._hasher = hasher
        self._providers = providers
        self._clock = clock
        self._closers = closers

    async def generate(self, person: Person) -> NewCodes:
        """Ten new ones, at the one moment at which they can be shown; those from before are void.

        Raises ForbiddenError, UnavailableError.
        """
        person.require_level(AssuranceLevel.AAL2)
        codes, salt = new_codes(), new_salt()
        hashes = await self._hasher.hash_codes(codes, salt)
        now = self._clock()
        async with self._database.transaction(person.org_id) as connection:
            batch = Batch(secrets.token_hex(8), salt)
            void = await replace_codes(connection, person.org_id, person.user_id, batch, hashes, now)
            await tell(
                connection, person, EventType.MFA_CODES_GENERATED, now, {"generated": len(codes), "voided": void}
            )
        return NewCodes(codes, now)

    async def status(self, person: Person) -> CodeStatus:
        """Raises ForbiddenError, UnavailableError."""
        person.require_level(AssuranceLevel.AAL2)
        async with self._database.transaction(person.org_id) as connection:
            return await code_status(connection, person.org_id, person.user_id)

    async def verify(self, person: Person, text: str) -> Recovered:
        """Use one: the person's TOTP factors and other codes are gone, and their other sessions closed.

        Raises ValidationError (not one of theirs, or used), RateLimitedError (locked out), UnavailableError.
        """
        code, provider = parse_code(text), self._provider(person)
        begun = self._clock()
        async with self._database.transaction(person.org_id) as connection:
            counted = await count_attempt(connection, person, Attempted.RECOVERY_CODE, begun)
            batch = await find_batch(connection, person.org_id, person.user_id)
        # Who has no codes is answered as late as who has.
        [code_hash] = await self._hasher.hash_codes([code], new_salt() if batch is None else batch.salt)
        claimed_at = self._clock()
        await self._claim(person, code_hash, claimed_at, counted)
        try:
            removed = await provider.remove_totp(person)
            await provider.close_other_sessions(person)
        except HeadgateError:
            await self._give_back(person, code_hash, claimed_at)
            raise
        return await self._finish(person, code_hash, claimed_at, removed)

    async def purge(self, person: Person) -> int:
        """How many unused ones that ended. With a password alone only where no factor is left to recover from, which is
        how unenrolment leaves a person: a stolen password must not take away its owner's way back.

        Raises ForbiddenError, UnavailableError.
        """
        if person.level < AssuranceLevel.AAL2 and await self._provider(person).count_totp(person):
            person.require_level(AssuranceLevel.AAL2)
        now = self._clock()
        async with self._database.transaction(person.org_id) as connection:
            ended = await delete_codes(connection, person.org_id, person.user_id)
            await tell(connection, person, EventType.MFA_CODES_PURGED, now, {"voided": ended})
        return ended

    def _provider(self, person: Person) -> FactorProvider:
        provider = self._providers.get(person.issuer)
        if provider is None:
            raise UnavailableError(
                f"Headgate cannot reach the second factors of {person.issuer}: an administrator sets"
                " HEADGATE_MFA_PROVIDER (docs/guides/mfa.md)"
            )
        return provider

    async def _claim(self, person: Person, code_hash: bytes, at: datetime, counted: Counted) -> None:
        """Raises ValidationError."""
        async with self._database.transaction(person.org_id) as connection:
            claimed = await claim_code(connection, person.org_id, person.user_id, code_hash, at, at - _CLAIM_LASTS)
            if not claimed:
                await tell_refusal(connection, person, Attempted.RECOVERY_CODE, counted, at)
        if not claimed:
            raise ValidationError(
                "the recovery code is wrong or already used",
                details={"field": "code", "reason": "unknown or used"},
            )

    async def _give_back(self, person: Person, code_hash: bytes, claimed_at: datetime) -> None:
        """It was the right one: neither it nor the attempt is spent."""
        async with self._database.transaction(person.org_id) as connection:
            await release_code(connection, person.org_id, person.user_id, code_hash, claimed_at)
            await forget_attempts(connection, person, Attempted.RECOVERY_CODE)

    async def _finish(self, person: Person, code_hash: bytes, claimed_at: datetime, removed: int) -> Recovered:
        now = self._clock()
        async with self._database.transaction(person.org_id) as connection:
            used = await use_code(connection, person.org_id, person.user_id, code_hash, claimed_at, now)
            await close_everywhere(self._closers, connection, person, now)
            if used:
                await forget_attempts(connection, person, Attempted.RECOVERY_CODE)
                # The last factor is gone: there is nothing left that the other codes would recover from.
                voided = await delete_codes(connection, person.org_id, person.user_id)
                await tell(
                    connection, person, EventType.MFA_CODE_USED, now,
                    {"factors_removed": removed, "codes_voided": voided, "issuer": person.issuer,
                     "owner": person.email or person.user_id, "reason": f"{voided} other recovery codes were purged"},
                )  # fmt: skip
                await tell(connection, person, EventType.MFA_CODES_PURGED, now, {"voided": voided})
            else:
                # The code is gone, what it did is not: whoever ends the codes at the right moment hides nothing.
                gone: JsonObject = {"type": "totp", "removed": removed}
                await tell(connection, person, EventType.MFA_FACTOR_REMOVED, now, gone)
        if not used:
            raise ConflictError(
                f"the recovery codes were changed while this one was being used: {removed} factors are removed",
                details={"factors_removed": removed},
            )
        ATTEMPTS.labels(Attempted.RECOVERY_CODE.value, "accepted").inc()
        return Recovered(removed, voided)
