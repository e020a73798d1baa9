"""Brings a caller and the state that decides the call to one generation."""

from msgspec import Struct

from headgate.agents.authenticate import KeyRing
from headgate.agents.model import KeyIdentity
from headgate.gate.organization_state import MOST_DECISIONS, UNSETTLED, OrganizationState, OrganizationStates
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret


class Caller(Struct):
    """The key that was shown, and what that key says now. Calls of one connection share it."""

    key: Secret
    identity: KeyIdentity


class Callers(Struct, frozen=True):
    """Of one process."""

    states: OrganizationStates
    keys: KeyRing
    clock: Clock

    async def at_one_generation(self, caller: Caller) -> tuple[OrganizationState, KeyIdentity]:
        """The organization's state and the caller's identity, of one generation.

        What is recorded names the identity that is returned: ``caller.identity`` may move on with another call of the
        same connection while this one is decided. Awaits nothing where both are known and agree. Raises
        UnauthorizedError where the key is no longer valid (revoked inside an open tunnel, expired), UnavailableError
        where that cannot be known.
        """
        for _ in range(MOST_DECISIONS):
            identity = caller.identity
            state = self.states.current(identity.org_id)
            expired = identity.expires_at is not None and identity.expires_at <= self.clock()
            if state is not None and state.generation == identity.generation and not expired:
                return state, identity
            if state is None or state.generation < identity.generation:
                state = await self.states.at_least(identity.org_id, identity.generation)
            self.keys.observe_generation(identity.org_id, state.generation)
            caller.identity = await self.keys.authenticate(caller.key.reveal())
        raise UnavailableError(UNSETTLED, retry_after_seconds=1)
