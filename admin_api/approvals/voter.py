"""The caller as somebody who decides approvals."""

from admin_api.principal import Principal
from headgate.approvals.voting import Voter


def voter_of(principal: Principal) -> Voter:
    return Voter(
        user_id=principal.user_id,
        email=principal.email,
        name=principal.name,
        key_id=principal.key_id,
        agent_id=principal.agent_id,
        is_admin=principal.is_admin,
        address=principal.address,
    )
