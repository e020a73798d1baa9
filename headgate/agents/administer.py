"""What administrators change about an agent. Each change raises the organization's generation, so that it holds for
the next call in every process, inside open tunnels too, and is recorded with what it was before.

A transaction is the caller's: these functions only take part in it.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from headgate.agents.model import Agent, AgentStatus
from headgate.agents.store import get_agent, revoke_keys, update_agent, usable_keys_of_agent
from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ConflictError
from headgate.organizations.change import OrganizationChange


async def change_agent(change: OrganizationChange, before: Agent, after: Agent) -> Agent:
    """Keep what an administrator says of an agent; nothing is written where nothing differs."""
    changed = _difference(before, after)
    if not changed:
        return before
    await change.raise_generation()
    kept = replace(after, updated_at=change.at)
    await update_agent(change.connection, kept)
    await _record(change, EventType.AGENT_UPDATED, kept, {"changed": changed})
    return kept


async def suspend_agent(change: OrganizationChange, agent_id: str, reason: str | None) -> Agent:
    """Its keys stop working now and work again when it is resumed. Raises NotFoundError, ConflictError."""
    agent = await get_agent(change.connection, change.org_id, agent_id, lock=True)
    if agent.status is AgentStatus.SUSPENDED:
        return agent
    _require(agent, AgentStatus.ACTIVE)
    return await _move(change, agent, AgentStatus.SUSPENDED, reason, EventType.AGENT_SUSPENDED)


async def resume_agent(change: OrganizationChange, agent_id: str, reason: str | None) -> Agent:
    """The end of a suspension. Raises NotFoundError, ConflictError (a deactivated agent is history)."""
    agent = await get_agent(change.connection, change.org_id, agent_id, lock=True)
    if agent.status is AgentStatus.ACTIVE:
        return agent
    _require(agent, AgentStatus.SUSPENDED)
    return await _move(change, agent, AgentStatus.ACTIVE, reason, EventType.AGENT_RESUMED)


async def deactivate_agent(change: OrganizationChange, agent_id: str) -> Agent:
    """End an agent for good: its keys are revoked, its history stays. Once more changes nothing."""
    agent = await get_agent(change.connection, change.org_id, agent_id, lock=True)
    if agent.status is AgentStatus.DEACTIVATED:
        return agent
    usable = await usable_keys_of_agent(change.connection, change.org_id, agent_id, change.at)
    ids = [key.key_id for key in usable]
    await revoke_keys(change.connection, change.org_id, ids, change.at)
    return await _move(change, agent, AgentStatus.DEACTIVATED, None, EventType.AGENT_DEACTIVATED, {"revoked": [*ids]})


async def _move(
    change: OrganizationChange,
    agent: Agent,
    status: AgentStatus,
    reason: str | None,
    event_type: EventType,
    more: JsonObject | None = None,
) -> Agent:
    await change.raise_generation()
    # Why it does not work is of interest for as long as it does not; the record keeps why it works again.
    shown = None if status is AgentStatus.ACTIVE else reason
    moved = replace(agent, status=status, status_reason=shown, updated_at=change.at)
    await update_agent(change.connection, moved)
    await _record(change, event_type, moved, {"reason": reason, **(more or {})})
    return moved


async def _record(change: OrganizationChange, event_type: EventType, agent: Agent, data: JsonObject) -> None:
    await change.record(event_type, {"agent_id": agent.agent_id, **data}, agent_id=agent.agent_id)


def _require(agent: Agent, status: AgentStatus) -> None:
    if agent.status is not status:
        raise ConflictError(
            f"the agent {agent.agent_id} is {agent.status}, not {status}", details={"status": agent.status.value}
        )


def _difference(before: Agent, after: Agent) -> JsonObject:
    """What changes, as ``{name: {from, to}}``."""
    was, will_be = _told(before), _told(after)
    return {name: {"from": was[name], "to": value} for name, value in will_be.items() if was[name] != value}


def _told(agent: Agent) -> dict[str, JsonValue]:
    tags: Sequence[str] = agent.tags
    return {
        "name": agent.name,
        "description": agent.description,
        "owner": agent.owner,
        "tags": [*tags],
        "requests_per_minute": agent.limits.requests_per_minute,
        "open_approvals": agent.limits.open_approvals,
    }
