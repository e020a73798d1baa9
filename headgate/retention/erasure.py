"""Erasing what was kept of single actions, because a person has the right to it (GDPR, article 17).

The keys go, with what they encrypt and what stands in rows; the chain stays as it was signed, and the action's own
``body.erased`` says in it who did it and why. In the same transaction, or none of it.
"""

from collections.abc import Sequence
from typing import Final

from headgate.audit.model import Event, EventType
from headgate.audit.store import append
from headgate.kernel.canonical_json import JsonObject
from headgate.organizations.change import OrganizationChange
from headgate.retention.body_store import Standing, forget, standing_of
from headgate.retention.hold_store import keep_holds_still
from headgate.retention.model import BodyState, ErasureDepth, ErasureOutcome
from headgate.retention.retained_kind import RetainedKind

MOST_AT_ONCE: Final = 100


async def erase_actions(
    change: OrganizationChange,
    action_ids: Sequence[str],
    depth: ErasureDepth,
    reason: str,
    things: Sequence[RetainedKind],
) -> dict[str, ErasureOutcome]:
    """By action: what became of it. ``things``: the further kinds that are kept of actions. Seal what waits before:
    an event that is not in the chain yet would keep its payload."""
    org_id = change.org_id
    await keep_holds_still(change.connection, org_id)
    standing = await standing_of(change.connection, org_id, action_ids)
    may = [one for one, found in standing.items() if found.resting and not found.held]
    everything = depth is ErasureDepth.EVERYTHING
    erased = set(await forget(change.connection, org_id, may, BodyState.ERASED, everything=everything))
    for thing in things:
        for one in may:
            if await thing.erase(change.connection, org_id, [one]):
                erased.add(one)
    data: JsonObject = {"depth": depth.value, "reason": reason}
    await append(
        change.connection,
        org_id,
        [
            Event(EventType.BODY_ERASED, change.at, change.actor, data, action_id=one, agent_id=standing[one].agent_id)
            for one in sorted(erased)
        ],
    )
    return {one: ErasureOutcome.ERASED if one in erased else _refusal(standing.get(one)) for one in action_ids}


def _refusal(standing: Standing | None) -> ErasureOutcome:
    if standing is None:
        return ErasureOutcome.UNKNOWN
    if standing.held:
        return ErasureOutcome.HELD
    if standing.resting and standing.state is BodyState.ERASED:
        return ErasureOutcome.ALREADY_ERASED
    return ErasureOutcome.NOT_AT_REST
