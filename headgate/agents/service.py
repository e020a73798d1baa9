"""What administrators do with agents and keys. Each change raises the organization's generation and is recorded.

A transaction is the caller's: these functions only take part in it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.agents.keys import display_prefix, generate_key, hash_key
from headgate.agents.model import NO_LIMITS, Agent, AgentLimits, AgentStatus, ApiKey
from headgate.agents.scopes import KIND_SCOPES, KeyKind, Scope
from headgate.agents.store import (
    expire_keys,
    find_key,
    get_agent,
    get_key,
    insert_agent,
    insert_key,
    revoke_keys,
    set_key_owner,
    usable_keys_of_agent,
)
from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.organizations.change import OrganizationChange

MAX_OVERLAP_SECONDS: Final = 30 * 24 * 3600


class IssuedKey(Struct, frozen=True):
    """A key at the one moment at which it can be shown."""

    record: ApiKey
    key: Secret


async def create_agent(
    change: OrganizationChange,
    *,
    name: str,
    description: str | None,
    owner: str | None = None,
    tags: Sequence[str] = (),
    limits: AgentLimits = NO_LIMITS,
    expires_at: datetime | None = None,
) -> tuple[Agent, IssuedKey]:
    """A new agent with its first key, which ends at ``expires_at`` (None: never). Raises ValidationError."""
    _refuse_past(expires_at, change.at)
    await change.raise_generation()
    agent = Agent(
        org_id=change.org_id,
        agent_id=new_id(IdPrefix.AGENT),
        name=name,
        description=description,
        status=AgentStatus.ACTIVE,
        created_by=change.user_id,
        created_at=change.at,
        updated_at=change.at,
        owner=owner,
        tags=tuple(tags),
        limits=limits,
    )
    await insert_agent(change.connection, agent)
    issued = await _issue(
        change,
        kind=KeyKind.AGENT,
        agent_id=agent.agent_id,
        scopes=KIND_SCOPES[KeyKind.AGENT],
        expires_at=expires_at,
    )
    created: JsonObject = {"agent_id": agent.agent_id, "description": description, "name": name, "owner": owner}
    await change.record(EventType.AGENT_CREATED, created, agent_id=agent.agent_id)
    await _record(change, EventType.KEY_CREATED, issued.record)
    return agent, issued


async def create_key(
    change: OrganizationChange,
    *,
    kind: KeyKind,
    scopes: frozenset[Scope],
    agent_id: str | None = None,
    name: str | None = None,
    expires_at: datetime | None = None,
) -> IssuedKey:
    """One more key: of an agent, or for an administrator's or a webhook's program.

    Raises NotFoundError for an unknown agent, ConflictError for one that is deactivated, ValidationError.
    """
    _refuse_past(expires_at, change.at)
    await change.raise_generation()
    if agent_id is not None:
        await _active_agent(change.connection, change.org_id, agent_id)
    issued = await _issue(change, kind=kind, agent_id=agent_id, scopes=scopes, name=name, expires_at=expires_at)
    await _record(change, EventType.KEY_CREATED, issued.record)
    return issued


async def rotate_key(
    change: OrganizationChange,
    agent_id: str,
    *,
    key_id: str | None = None,
    overlap_seconds: int = 0,
) -> tuple[IssuedKey, Sequence[ApiKey]]:
    """A new key in the place of the old ones, which stop at once or after the overlap; answers both.

    Without ``key_id`` all keys of the agent that work are replaced, so that rotating after a leak needs no
    knowledge of which one leaked. The new key has the scopes of what it replaces, and its lifetime, if it had one.
    """
    await change.raise_generation()
    await _active_agent(change.connection, change.org_id, agent_id)
    usable = await usable_keys_of_agent(change.connection, change.org_id, agent_id, change.at)
    replaced = [key for key in usable if key_id is None or key.key_id == key_id]
    if key_id is not None and not replaced:
        raise NotFoundError(f"This agent has no active key {key_id}")
    newest = replaced[0] if replaced else None
    issued = await _issue(
        change,
        kind=KeyKind.AGENT,
        agent_id=agent_id,
        scopes=KIND_SCOPES[KeyKind.AGENT] if newest is None else newest.scopes,
        name=None if newest is None else newest.name,
        expires_at=None if newest is None else _renewed(newest, change.at),
    )
    ids = [key.key_id for key in replaced]
    if overlap_seconds > 0:
        await expire_keys(change.connection, change.org_id, ids, change.at + timedelta(seconds=overlap_seconds))
    else:
        await revoke_keys(change.connection, change.org_id, ids, change.at)
    rotated: JsonObject = {"overlap_seconds": overlap_seconds, "replaced": [*ids]}
    await _record(change, EventType.KEY_ROTATED, issued.record, rotated)
    return issued, replaced


async def revoke_key(change: OrganizationChange, key_id: str, *, agent_id: str | None = None) -> ApiKey:
    """End a key now and for ever; revoking it again changes nothing. Raises NotFoundError."""
    key = await get_key(change.connection, change.org_id, key_id, agent_id=agent_id, lock=True)
    if key.revoked_at is not None:
        return key
    await change.raise_generation()
    await revoke_keys(change.connection, change.org_id, [key_id], change.at)
    await _record(change, EventType.KEY_REVOKED, key)
    return await get_key(change.connection, change.org_id, key_id)


async def take_over_key(change: OrganizationChange, key_id: str) -> ApiKey:
    """A program's key becomes the business of the person who asks: it goes on where its own person was deactivated, and
    votes as the new one from now on. Only to oneself: nobody can make a key decide as somebody else.

    Raises NotFoundError, ConflictError (an agent's, or revoked). Again is no change.
    """
    key = await find_key(change.connection, change.org_id, key_id, lock=True)
    if key is None or change.user_id is None:
        raise NotFoundError(f"there is no key {key_id}")
    if key.agent_id is not None:
        raise ConflictError(f"The key {key_id} belongs to its agent and needs no owner.")
    if key.revoked_at is not None:
        raise ConflictError(f"The key {key_id} is revoked. Create a new one.")
    if key.user_id == change.user_id:
        return key
    await change.raise_generation()
    await set_key_owner(change.connection, change.org_id, key_id, change.user_id)
    told: JsonObject = {"from": key.user_id, "to": change.user_id}
    await _record(change, EventType.KEY_TAKEN_OVER, key, told)
    return replace(key, user_id=change.user_id, stopped_at=None)


async def _active_agent(connection: Connection, org_id: str, agent_id: str) -> Agent:
    agent = await get_agent(connection, org_id, agent_id)
    if agent.status is not AgentStatus.ACTIVE:
        raise ConflictError(f"The agent {agent_id} is {agent.status}. Keys are created for active agents only.")
    return agent


async def _issue(
    change: OrganizationChange,
    *,
    kind: KeyKind,
    scopes: frozenset[Scope],
    agent_id: str | None = None,
    name: str | None = None,
    expires_at: datetime | None = None,
) -> IssuedKey:
    key = generate_key()
    record = ApiKey(
        org_id=change.org_id,
        key_id=new_id(IdPrefix.KEY),
        kind=kind,
        agent_id=agent_id,
        # A key votes as the user who created it (semantics.md, "Combining and voting").
        user_id=change.user_id,
        name=name,
        display=display_prefix(key),
        scopes=scopes,
        created_at=change.at,
        expires_at=expires_at,
        revoked_at=None,
        last_used_at=None,
    )
    await insert_key(change.connection, record, hash_key(key.reveal()))
    return IssuedKey(record, key)


async def _record(
    change: OrganizationChange, event_type: EventType, key: ApiKey, more: JsonObject | None = None
) -> None:
    data: JsonObject = {
        "expires_at": None if key.expires_at is None else rfc3339(key.expires_at),
        "key_id": key.key_id,
        "kind": key.kind.value,
        "scopes": [scope.value for scope in sorted(key.scopes)],
        **(more or {}),
    }
    await change.record(event_type, data, agent_id=key.agent_id)


def _refuse_past(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise ValidationError(
            "expires_at is in the past", details={"field": "expires_at", "reason": "not in the future"}
        )


def _renewed(key: ApiKey, now: datetime) -> datetime | None:
    return None if key.expires_at is None else now + (key.expires_at - key.created_at)
