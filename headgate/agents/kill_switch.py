"""Stopping an organization, an agent or a tool, and letting it go on.

A transaction is the caller's. The organization's row is locked first (its generation rises), so that of two people who
stop and start at the same moment neither undoes the other.
"""

from headgate.agents.store import agent_ids_of
from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError, ValidationError
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import SettingName
from headgate.organizations.stops import (
    Stop,
    Stops,
    StopScope,
    parse_stops,
    stops_text,
    with_stop,
    without_stop,
)
from headgate.organizations.store import get_setting, put_setting


async def current_stops(connection: Connection, org_id: str) -> Stops:
    """Raises UnavailableError where the setting cannot be read: nothing is decided without it."""
    setting = await get_setting(connection, org_id, SettingName.KILL_SWITCH)
    try:
        return parse_stops(None if setting is None else setting.document)
    except ValidationError as error:
        raise UnavailableError(error.message) from error


async def named_agent(connection: Connection, org_id: str, target: str) -> str:
    """The id of the agent with this id or name. One look-up here, so that a client needs no second request, which a
    quota could refuse. Raises NotFoundError, and ValidationError where several agents have the name."""
    found = await agent_ids_of(connection, org_id, target)
    if not found:
        raise NotFoundError(f"there is no agent {target}")
    if len(found) > 1:
        raise ValidationError(
            f"{len(found)} agents have the name {target}. Use an id: {', '.join(found[:20])}",
            details={"field": "target", "reason": "several agents have this name"},
        )
    return found[0]


async def stop(change: OrganizationChange, scope: StopScope, target: str | None, reason: str) -> Stops:
    """Refuse what this covers from now on."""
    await change.raise_generation()
    made = Stop(scope, target, reason, change.actor.name or change.actor.id, rfc3339(change.at))
    stops = with_stop(await current_stops(change.connection, change.org_id), made)
    await put_setting(change.connection, change.org_id, SettingName.KILL_SWITCH, stops_text(stops), change.user_id)
    await _record(change, EventType.STOP_PLACED, scope, target, {"reason": reason})
    return stops


async def lift(change: OrganizationChange, scope: StopScope, target: str | None, reason: str) -> Stops:
    """Let it go on. Raises ConflictError where it is not stopped, ValidationError where the reason is the stop's own:
    what made somebody stop it is not why it may go on."""
    await change.raise_generation()
    stops, lifted = without_stop(await current_stops(change.connection, change.org_id), scope, target)
    if lifted is None:
        raise ConflictError(f"the {scope}{'' if target is None else f' {target}'} is not stopped")
    if reason.strip().casefold() == lifted.reason.strip().casefold():
        raise ValidationError(
            "reason: give the reason to resume, not the reason of the stop",
            details={"field": "reason", "reason": "the same as the stop's"},
        )
    await put_setting(change.connection, change.org_id, SettingName.KILL_SWITCH, stops_text(stops), change.user_id)
    told: JsonObject = {"reason": reason, "stopped_for": lifted.reason, "stopped_by": lifted.stopped_by}
    await _record(change, EventType.STOP_LIFTED, scope, target, told)
    return stops


async def _record(
    change: OrganizationChange,
    event_type: EventType,
    scope: StopScope,
    target: str | None,
    data: JsonObject,
) -> None:
    told: JsonObject = {"scope": scope.value, "target": target, **data}
    agent_id = target if scope is StopScope.AGENT else None
    await change.record(event_type, told, agent_id=agent_id)
