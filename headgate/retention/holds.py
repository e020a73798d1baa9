"""Placing and lifting legal holds: both are recorded, and the reasons with them.

A hold that has been placed is in force for everything that is forgotten from then on, by whichever process: whoever
forgets looks at the holds under a lock that placing one waits for.
"""

from msgspec.structs import replace

from headgate.agents.store import find_agent
from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError, NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import OrganizationChange
from headgate.retention.body_store import action_exists
from headgate.retention.hold_store import find_hold, insert_hold, save_lift, wait_for_forgetting
from headgate.retention.model import HoldScope, LegalHold


async def place_hold(change: OrganizationChange, scope: HoldScope, target: str | None, reason: str) -> LegalHold:
    """Raises NotFoundError for an unknown agent or action."""
    org_id = change.org_id
    await wait_for_forgetting(change.connection, org_id)
    if scope is HoldScope.AGENT and (target is None or await find_agent(change.connection, org_id, target) is None):
        raise NotFoundError(f"there is no agent {target}")
    if scope is HoldScope.ACTION and (target is None or not await action_exists(change.connection, org_id, target)):
        raise NotFoundError(f"there is no action {target}")
    by = change.actor.name or change.actor.id
    hold = LegalHold(new_id(IdPrefix.LEGAL_HOLD), scope, target, reason, by, change.at)
    await insert_hold(change.connection, org_id, hold)
    await _record(change, EventType.LEGAL_HOLD_PLACED, hold, {"reason": reason})
    return hold


async def lift_hold(change: OrganizationChange, hold_id: str, reason: str) -> LegalHold:
    """Raises NotFoundError, ConflictError where it was lifted already, ValidationError where the reason is the hold's
    own: why it was placed is not why it may go."""
    hold = await find_hold(change.connection, change.org_id, hold_id)
    if hold is None:
        raise NotFoundError(f"there is no legal hold {hold_id}")
    if reason.strip().casefold() == hold.reason.strip().casefold():
        raise ValidationError(
            "reason: give the reason to lift the hold, not the reason why it was placed",
            details={"field": "reason", "reason": "the same as the hold's"},
        )
    by = change.actor.name or change.actor.id
    if not await save_lift(change.connection, change.org_id, hold_id, by, change.at, reason):
        raise ConflictError(f"the legal hold {hold_id} was already lifted")
    told: JsonObject = {"reason": reason, "placed_for": hold.reason, "placed_by": hold.placed_by}
    await _record(change, EventType.LEGAL_HOLD_LIFTED, hold, told)
    return replace(hold, lifted_by=by, lifted_at=change.at, lift_reason=reason)


async def _record(change: OrganizationChange, event_type: EventType, hold: LegalHold, data: JsonObject) -> None:
    # Not in the event's own column of actions: the action's proof pack would change with each hold.
    told: JsonObject = {"hold_id": hold.hold_id, "scope": hold.scope.value, "target": hold.target, **data}
    agent_id = hold.target if hold.scope is HoldScope.AGENT else None
    await change.record(event_type, told, agent_id=agent_id)
