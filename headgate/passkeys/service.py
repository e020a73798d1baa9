"""Registering a passkey, signing in with one, and removing one: each on record.

A passkey verifies its user (PIN or biometrics) on a device that they have. These are two factors, and the session that
it opens is aal2 (NIST SP 800-63B-4, section 3.1.7).
"""

import hashlib
import os
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from headgate.audit.model import Actor, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, ForbiddenError, NotFoundError, UnauthorizedError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.mfa.closed_sessions import close_tokens
from headgate.mfa.code_store import delete_codes, lock_codes
from headgate.mfa.events import tell
from headgate.mfa.factor_store import find_factors
from headgate.mfa.model import AssuranceLevel, Person
from headgate.organizations.local_issuer import LOCAL_ISSUER
from headgate.organizations.model import User
from headgate.organizations.service import require_active
from headgate.organizations.store import get_user
from headgate.passkeys.model import Challenge, Passkey, Purpose, Registered, RelyingParty
from headgate.passkeys.store import (
    begin_challenge,
    count_use,
    delete_passkey,
    insert_passkey,
    list_passkeys,
    locate_passkey,
    take_challenge,
)
from headgate.sessions.model import Browser
from headgate.sessions.service import EndReason, close_sessions, record_failed_login

if TYPE_CHECKING:
    from headgate.passkeys.ceremony import Ceremony

PASSKEY_LEVEL: Final = "aal2"
_CHALLENGE_LASTS: Final = timedelta(minutes=5)
_CHALLENGE_BYTES: Final = 32
_HANDLE_BYTES: Final = 32
_MOST: Final = 20


class NewPasskey(Struct, frozen=True):
    """One that was made and checked, and is nobody's yet."""

    registered: Registered
    user_handle: bytes


class Passkeys:
    def __init__(self, database: Database, clock: Clock, party: RelyingParty) -> None:
        self._database = database
        self._clock = clock
        self.party = party

    @cached_property
    def _ceremony(self) -> "Ceremony":
        from headgate.passkeys.ceremony import Ceremony  # noqa: PLC0415 - a start need not wait for WebAuthn

        return Ceremony(self.party)

    async def options_to_register(self, about: str, account: str, known: list[Passkey] | None = None) -> JsonObject:
        """``about``: for whom; the answer counts for nobody else."""
        handle = os.urandom(_HANDLE_BYTES)
        challenge = await self._begin(Purpose.REGISTER, about, handle)
        return self._ceremony.creation_options(challenge, handle, account, known or [])

    async def options_to_sign_in(self) -> JsonObject:
        return self._ceremony.request_options(await self._begin(Purpose.SIGN_IN, "", b""))

    async def check_registration(self, about: str, response: JsonValue) -> NewPasskey:
        """Raises UnauthorizedError."""
        challenge = self._ceremony.presented(response).challenge
        begun = await self._take(challenge, Purpose.REGISTER, about)
        return NewPasskey(self._ceremony.registered(challenge, response), begun.user_handle)

    async def sign_in(self, response: JsonValue, browser: Browser) -> User:
        """Whose passkey it is. Raises UnauthorizedError, ForbiddenError (deactivated)."""
        answer = self._ceremony.presented(response)
        await self._take(answer.challenge, Purpose.SIGN_IN, "")
        async with self._database.across_organizations() as connection:
            passkey = await locate_passkey(connection, answer.credential_id)
        if passkey is None:
            raise UnauthorizedError("This passkey is not registered here, or it was removed.")
        try:
            return await self._use(passkey, answer.challenge, response)
        except (UnauthorizedError, ForbiddenError) as error:
            await record_failed_login(
                self._database,
                passkey.org_id,
                issuer=LOCAL_ISSUER,
                subject=passkey.user_id,
                why=error.message,
                browser=browser,
                at=self._clock(),
            )
            raise

    async def of_person(self, person: Person) -> list[Passkey]:
        async with self._database.transaction(person.org_id) as connection:
            return await list_passkeys(connection, person.org_id, person.user_id)

    async def options_for_person(self, person: Person) -> JsonObject:
        """A further one needs a session with what is there already. Raises ForbiddenError, ConflictError."""
        known = await self._require_may_add(person)
        return await self.options_to_register(_about(person), person.email or person.subject, known)

    async def add(self, person: Person, name: str, response: JsonValue) -> Passkey:
        """Raises UnauthorizedError, ForbiddenError, ConflictError."""
        await self._require_may_add(person)
        made = await self.check_registration(_about(person), response)
        async with self._database.transaction(person.org_id) as connection:
            return await self.keep(connection, person.org_id, person.user_id, person.actor, made, name)

    async def keep(
        self, connection: Connection, org_id: str, user_id: str, actor: Actor, made: NewPasskey, name: str
    ) -> Passkey:
        """In the caller's transaction. Raises ConflictError."""
        passkey = Passkey(
            org_id=org_id,
            passkey_id=new_id(IdPrefix.PASSKEY),
            user_id=user_id,
            credential_id=made.registered.credential_id,
            credential=made.registered.credential,
            user_handle=made.user_handle,
            sign_count=made.registered.sign_count,
            name=name,
            created_at=self._clock(),
        )
        if not await insert_passkey(connection, passkey):
            raise ConflictError("This passkey is already registered.")
        await self._tell(connection, EventType.PASSKEY_REGISTERED, actor, passkey.passkey_id, org_id, user_id)
        return passkey

    async def remove(self, person: Person, passkey_id: str) -> None:
        """The person's other sessions end: the passkey, and a session that it opened, may be with whoever has the
        device. Raises ForbiddenError, NotFoundError."""
        async with self._database.transaction(person.org_id) as connection:
            await lock_codes(connection, person.org_id, person.user_id)  # one of two concurrent removals sees the last
            known = await list_passkeys(connection, person.org_id, person.user_id)
            if any(one.passkey_id == passkey_id for one in known):
                person.require_level(AssuranceLevel.AAL2)
            if not await delete_passkey(connection, person.org_id, person.user_id, passkey_id):
                raise NotFoundError(f"there is no passkey {passkey_id}")
            await self._tell(
                connection, EventType.PASSKEY_REMOVED, person.actor, passkey_id, person.org_id, person.user_id
            )
            await self._end_other_sessions(connection, person)
            if len(known) == 1:
                await self._purge_codes(connection, person)

    async def _end_other_sessions(self, connection: Connection, person: Person) -> None:
        now, asking = self._clock(), person.browser_session_id
        await close_tokens(connection, person, now)
        await close_sessions(
            connection, person.actor, person.org_id, person.user_id, at=now, reason=EndReason.REVOKED, but=asking
        )

    async def _purge_codes(self, connection: Connection, person: Person) -> None:
        """Deletes the recovery codes after the last passkey, unless an authenticator app is enrolled."""
        factors = await find_factors(connection, person.org_id, person.user_id)
        if any(one.is_active for one in factors):
            return
        if ended := await delete_codes(connection, person.org_id, person.user_id):
            await tell(connection, person, EventType.MFA_CODES_PURGED, self._clock(), {"voided": ended})

    async def _use(self, passkey: Passkey, challenge: bytes, response: JsonValue) -> User:
        sign_count = self._ceremony.asserted(challenge, passkey, response)
        async with self._database.transaction(passkey.org_id) as connection:
            user = await get_user(connection, passkey.org_id, passkey.user_id)
            require_active(user.user_id, user.deactivated_at)
            if not await count_use(connection, passkey, sign_count, self._clock()):
                raise UnauthorizedError(
                    "The passkey was refused: its counter did not grow, so that a copy of it may exist. Remove it."
                )
        return user

    async def _require_may_add(self, person: Person) -> list[Passkey]:
        if person.issuer != LOCAL_ISSUER:
            raise ForbiddenError(f"{person.issuer} manages this person's passkeys. Register one there.")
        async with self._database.transaction(person.org_id) as connection:
            known = await list_passkeys(connection, person.org_id, person.user_id)
            factors = await find_factors(connection, person.org_id, person.user_id)
        if known or any(one.is_active for one in factors):
            person.require_level(AssuranceLevel.AAL2)
        if len(known) >= _MOST:
            raise ConflictError(f"A person has at most {_MOST} passkeys. Remove one first.")
        return known

    async def _begin(self, purpose: Purpose, about: str, handle: bytes) -> bytes:
        challenge = os.urandom(_CHALLENGE_BYTES)
        begun = Challenge(purpose, about, handle, self._clock() + _CHALLENGE_LASTS)
        async with self._database.across_organizations() as connection:
            await begin_challenge(connection, hashlib.sha256(challenge).digest(), begun)
        return challenge

    async def _take(self, challenge: bytes, purpose: Purpose, about: str) -> Challenge:
        """Spent, whatever comes of it. Raises UnauthorizedError."""
        async with self._database.across_organizations() as connection:
            begun = await take_challenge(connection, hashlib.sha256(challenge).digest())
        if begun is None or begun.expires_at <= self._clock():
            raise UnauthorizedError("This attempt has expired, or was used already. Try again.")
        if (begun.purpose, begun.about) != (purpose, about):
            raise UnauthorizedError("The passkey answered another challenge. Try again.")
        return begun

    async def _tell(
        self, connection: Connection, what: EventType, actor: Actor, passkey_id: str, org_id: str, user_id: str
    ) -> None:
        told: JsonObject = {"passkey_id": passkey_id, "user_id": user_id}
        await append(connection, org_id, [Event(what, self._clock(), actor, told)])


def _about(person: Person) -> str:
    return f"{person.org_id}/{person.user_id}"
