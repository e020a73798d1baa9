"""Confirming and taking back grants. Each raises the organization's generation: effective at every process with its
next decision (semantics.md, "Fresh state"). A transaction is the caller's.
"""

from msgspec.structs import replace

from headgate.approvals.voting import Voter
from headgate.audit.model import EventType
from headgate.grants.granting import checked_reason, granter_of, refuse_kept_apart
from headgate.grants.model import Grant, GrantStatus
from headgate.grants.store import find_grant, save_granters, save_revocation
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError
from headgate.organizations.change import OrganizationChange
from headgate.policies.store import load_enabled


async def confirm_grant(change: OrganizationChange, grant_id: str, granter: Voter) -> Grant:
    """One more person stands for it, where a policy asks for more than one. Raises NotFoundError, ForbiddenError,
    ConflictError."""
    grant = await find_grant(change.connection, change.org_id, grant_id, lock=True)
    if (status := grant.status(change.at)) is not GrantStatus.ACTIVE:
        raise ConflictError(f"grant {grant_id} is {status}", details={"status": status.value})
    person = granter_of(granter, change.at)
    if any(one.voter_id in granter.named.users for one in grant.granters):
        raise ConflictError(f"{person.voter_id} has already confirmed grant {grant_id}")
    enabled = await load_enabled(change.connection, change.org_id)
    await refuse_kept_apart(change, grant, granter, [one for one in enabled if one.policy_id in grant.policy_ids])
    await change.raise_generation()
    confirmed = replace(grant, granters=(*grant.granters, person))
    await save_granters(change.connection, confirmed)
    data: JsonObject = {"grant_id": grant_id, "granters": [one.voter_id for one in confirmed.granters]}
    await change.record(EventType.GRANT_CONFIRMED, data, agent_id=grant.agent_id)
    return confirmed


async def revoke_grant(change: OrganizationChange, grant_id: str, reason: str) -> Grant:
    """End it now; revoking it again changes nothing. Raises NotFoundError, ValidationError."""
    reason = checked_reason(reason)
    # The row before the generation, in the order in which a use that is given back takes them.
    grant = await find_grant(change.connection, change.org_id, grant_id, lock=True)
    if grant.revoked_at is not None:
        return grant
    by = change.user_id or change.actor.id
    await save_revocation(change.connection, change.org_id, grant_id, change.at, by, reason)
    await change.raise_generation()
    data: JsonObject = {"grant_id": grant_id, "reason": reason, "uses": grant.uses}
    await change.record(EventType.GRANT_REVOKED, data, agent_id=grant.agent_id)
    return replace(grant, revoked_at=change.at, revoked_by=by, revoke_reason=reason)
