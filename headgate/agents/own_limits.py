"""An agent's own limits as what enforces them wants them."""

from headgate.agents.model import KeyIdentity
from headgate.ratelimits.gcra import Quota


def own_quota(identity: KeyIdentity) -> Quota | None:
    """None: as everybody's."""
    count = identity.limits.requests_per_minute
    return None if count is None else Quota(count, 60)


def most_open_approvals(identity: KeyIdentity, everybodys: int | None) -> int | None:
    """How many approvals this agent may have open; None: any number."""
    own = identity.limits.open_approvals
    return everybodys if own is None else own
