"""Who is calling, of the same generation as the state that the call is decided on."""

from dataclasses import dataclass
from typing import Final

from headgate.agents.authenticate import KeyRing
from headgate.agents.model import KeyIdentity
from headgate.gate.organization_state import OrganizationState, OrganizationStates
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret

MOST_DECISIONS: Final = 8
"""A call is decided again when the state moved between deciding and recording; one that never settles is refused."""

UNSETTLED: Final = "the organization's settings are changing too fast to decide; try again"


@dataclass(slots=True)
class Caller:
    """The key that was shown, and what that key says now."""

    key: Secret
    identity: KeyIdentity


async def agree(caller: Caller, states: OrganizationStates, keys: KeyRing, clock: Clock) -> OrganizationState:
    """The organization's state, with ``caller.identity`` brought to its generation.

    Awaits nothing where both are known and agree. Raises UnauthorizedError where the key is no longer valid
    (revoked inside an open tunnel, expired), UnavailableError where that cannot be known.
    """
    for _ in range(MOST_DECISIONS):
        identity = caller.identity
        state = states.current(identity.org_id)
        expired = identity.expires_at is not None and identity.expires_at <= clock()
        if state is not None and state.generation == identity.generation and not expired:
            return state
        if state is None or state.generation < identity.generation:
            state = await states.at_least(identity.org_id, identity.generation)
        keys.observe_generation(identity.org_id, state.generation)
        caller.identity = await keys.authenticate(caller.key.reveal())
    raise UnavailableError(UNSETTLED, retry_after_seconds=1)
