"""From a presented key to who is calling, in a microsecond where the answer is known.

The cache holds a MAC of each key under a secret of this process (keyed BLAKE2b, RFC 7693, section 2.9), so
that a memory dump holds no key and a look-up leaks no prefix by its time. An entry is one organization's and
valid for one generation of its state; expiry is checked each time; a negative answer is kept for a second.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog
from msgspec import Struct

from headgate.agents.keys import hash_key, is_well_formed
from headgate.agents.model import AgentStatus, KeyIdentity
from headgate.agents.scopes import KeyKind, is_administrator, scopes_within_roles
from headgate.agents.store import FoundKey, find_key_by_hash, touch_keys
from headgate.db.database import Database
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.errors import UnauthorizedError, UnavailableError

_log = structlog.get_logger(__name__)

_NEGATIVE_SECONDS: Final = 1.0
_TOUCH_SECONDS: Final = 10.0


class _Refusal(Struct, frozen=True):
    """A key that did not work, and until when (monotonic seconds) that is believed."""

    message: str
    until: float


class KeyRing:
    """The keys that this process has seen. One event loop uses it; ``cached`` never waits."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock = system_clock,
        monotonic: Callable[[], float] = time.monotonic,
        max_entries: int = 10_000,
    ) -> None:
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._max_entries = max_entries
        self._secret = os.urandom(32)
        self._identities: dict[bytes, KeyIdentity] = {}
        self._refusals: dict[bytes, _Refusal] = {}
        self._generations: dict[str, int] = {}
        self._looking: dict[bytes, asyncio.Future[KeyIdentity]] = {}
        self._used: set[tuple[str, str]] = set()
        self._forgets = 0
        database.generation_listeners.append(self._forget)

    def cached(self, key: str, generation: int | None = None) -> KeyIdentity | None:
        """The identity if it is known, not expired, and of the newest generation that this process has seen.

        ``generation``, where the caller knows its organization's, must be the entry's.
        """
        identity = self._identities.get(self._mac(key))
        if identity is None:
            return None
        current = self._generations[identity.org_id] if generation is None else generation
        if identity.generation != current:
            return None
        if identity.expires_at is not None and identity.expires_at <= self._clock():
            return None
        self._used.add((identity.org_id, identity.key_id))
        return identity

    async def authenticate(self, key: str, *, fresh: bool = False) -> KeyIdentity:
        """Who presents this key. ``fresh`` asks the database whatever is cached: for callers whose own
        transaction does not compare the generation.

        Raises UnauthorizedError (the same message for unknown, revoked and deactivated: an outsider learns
        nothing), before any look-up where it cannot be a key; UnavailableError where the database is.
        """
        if not fresh and (identity := self.cached(key)) is not None:
            return identity
        if not is_well_formed(key):
            raise UnauthorizedError(
                "this API key is malformed: a key begins with hg_ and ends with a checksum. Copy the whole key again"
            )
        mac = self._mac(key)
        refusal = self._refusals.get(mac)
        if refusal is not None and self._monotonic() < refusal.until:
            raise UnauthorizedError(refusal.message)
        # A look-up that others share may have begun before a revocation that this caller must see.
        identity = await (self._ask(mac, key) if fresh else self._look_up(mac, key))
        self._used.add((identity.org_id, identity.key_id))
        return identity

    def observe_generation(self, org_id: str, generation: int) -> None:
        """The organization's state has moved: what is cached from before is not used any more."""
        if generation > self._generations.get(org_id, 0):
            self._generations[org_id] = generation

    def _forget(self, org_id: str) -> None:
        """Drops what is cached of one organization: this process has changed its state. What a look-up in flight brings
        is not cached. A refusal does not know its organization, so all are dropped: a resumed agent does not wait.
        """
        self._forgets += 1
        self._refusals.clear()
        for mac in [mac for mac, identity in self._identities.items() if identity.org_id == org_id]:
            del self._identities[mac]

    async def touch_used(self) -> None:
        """Write ``last_used_at`` of the keys used since the last time, in one statement."""
        used, self._used = self._used, set()
        if not used:
            return
        try:
            async with self._database.across_organizations() as connection:
                # In key order, as every process does it: fewer deadlocks, and one that happens is tried again.
                await touch_keys(connection, sorted(used))
        except UnavailableError:
            self._used |= used
            raise

    async def keep_touched(self) -> None:
        """``touch_used`` every ten seconds, for ever; without the database it tries again later."""
        while True:
            await asyncio.sleep(_TOUCH_SECONDS)
            try:
                await self.touch_used()
            except UnavailableError:
                _log.warning("key_use_not_noted", keys=len(self._used))

    async def _look_up(self, mac: bytes, key: str) -> KeyIdentity:
        """One question for all who present the same key at the same moment."""
        while (pending := self._looking.get(mac)) is not None:
            try:
                return await asyncio.shield(pending)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not pending.cancelled() or (task is not None and task.cancelling()):
                    raise
                # Whoever asked went away; somebody else asks.
        pending = asyncio.get_running_loop().create_future()
        self._looking[mac] = pending
        try:
            identity = await self._ask(mac, key)
        except Exception as error:
            pending.set_exception(error)
            pending.exception()  # marks it as seen: usually nobody else waits
            raise
        except asyncio.CancelledError:
            pending.cancel()
            raise
        else:
            pending.set_result(identity)
            return identity
        finally:
            del self._looking[mac]

    async def _ask(self, mac: bytes, key: str) -> KeyIdentity:
        forgets = self._forgets
        async with self._database.across_organizations() as connection:
            found = await find_key_by_hash(connection, hash_key(key))
        try:
            identity = identity_of(found, self._clock())
        except UnauthorizedError as error:
            self._identities.pop(mac, None)
            if forgets == self._forgets:
                refusal = _Refusal(error.message, self._monotonic() + _NEGATIVE_SECONDS)
                _keep(self._refusals, mac, refusal, self._max_entries)
            raise
        self._refusals.pop(mac, None)
        if forgets == self._forgets:
            _keep(self._identities, mac, identity, self._max_entries)
        self.observe_generation(identity.org_id, identity.generation)
        return identity

    def _mac(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode(errors="surrogatepass"), key=self._secret, digest_size=16).digest()


def identity_of(found: FoundKey | None, now: datetime) -> KeyIdentity:
    """Whether what the database says of a key makes it valid at ``now``. Raises UnauthorizedError."""
    if (
        found is None
        or found.revoked_at is not None
        or (found.agent_id is not None and found.agent_status not in {AgentStatus.ACTIVE, AgentStatus.SUSPENDED})
    ):
        raise UnauthorizedError("this API key is unknown or revoked")
    if found.expires_at is not None and found.expires_at <= now:
        # Whoever presents it had it while it was valid; saying so spares an operator a search.
        raise UnauthorizedError("this API key has expired")
    if found.agent_status is AgentStatus.SUSPENDED:
        raise UnauthorizedError("this API key's agent is suspended until an administrator resumes it")
    if found.stopped_at is not None:
        raise UnauthorizedError("This API key is disabled because its owner was deactivated.")
    scopes = found.scopes
    if found.owner_roles is not None:
        scopes = scopes_within_roles(scopes, found.owner_roles)
        if found.kind is KeyKind.WEBHOOK and not is_administrator(found.owner_roles):
            raise UnauthorizedError("This API key is disabled because its owner is no longer an administrator.")
    return KeyIdentity(
        org_id=found.org_id,
        key_id=found.key_id,
        kind=found.kind,
        agent_id=found.agent_id,
        agent_name=found.agent_name,
        user_id=found.user_id,
        scopes=scopes,
        expires_at=found.expires_at,
        generation=found.generation,
        limits=found.limits,
        owner_issuer=found.owner_issuer,
    )


def _keep[Entry](cache: dict[bytes, Entry], mac: bytes, entry: Entry, max_entries: int) -> None:
    """The oldest entry goes first: bounded memory whatever is presented."""
    cache.pop(mac, None)
    if len(cache) >= max_entries:
        del cache[next(iter(cache))]
    cache[mac] = entry
