"""Rows of agents and keys. All of it inside a transaction of the organization, but for ``find_key_by_hash``."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg.rows import DictRow

from headgate.agents.model import NO_LIMITS, Agent, AgentLimits, AgentStatus, ApiKey
from headgate.agents.scopes import KeyKind, Scope
from headgate.db.database import Connection
from headgate.db.rows import insert_row, update_row
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, full_id
from headgate.organizations.model import Role

_AGENT: Final = (
    "org_id, agent_id, name, description, status, created_by, created_at, updated_at, owner, tags,"
    " requests_per_minute, open_approvals, status_reason"
)
AGENT_COLUMNS: Final = ", ".join(f"a.{name}" for name in _AGENT.split(", "))
"""Of ``agents a``, as ``agent_of`` reads them."""
_KEY: Final = (
    "org_id, key_id, kind, agent_id, user_id, name, display, scopes, created_at, expires_at, revoked_at, last_used_at"
)
_SELECT_AGENT: Final = f"SELECT {_AGENT} FROM agents"  # noqa: S608 - columns of this file
SELECT_KEYS: Final = (
    f"SELECT {', '.join(f'k.{name}' for name in _KEY.split(', '))},"  # noqa: S608 - columns of this file
    " (SELECT u.deactivated_at FROM users u WHERE u.org_id = k.org_id AND u.user_id = k.user_id AND k.kind <> 'agent')"
    " AS stopped_at FROM api_keys k"
)
"""As ``key_of`` reads them. An agent's key is its agent's, whoever made it."""


class FoundKey(Struct, frozen=True):
    """What the database says of a presented key, valid or not. ``owner_roles``: those of now of the person who answers
    for it, and ``owner_issuer``: who says who they are; None: nobody answers for it, or it is an agent's."""

    org_id: str
    key_id: str
    kind: KeyKind
    agent_id: str | None
    agent_name: str | None
    agent_status: AgentStatus | None
    user_id: str | None
    scopes: frozenset[Scope]
    expires_at: datetime | None
    revoked_at: datetime | None
    generation: int
    limits: AgentLimits = NO_LIMITS
    stopped_at: datetime | None = None
    owner_roles: frozenset[Role] | None = None
    owner_issuer: str | None = None


async def insert_agent(connection: Connection, agent: Agent) -> None:
    made = {"created_by": agent.created_by, "created_at": agent.created_at}
    await insert_row(connection, "agents", _changing(agent) | made)


async def update_agent(connection: Connection, agent: Agent) -> None:
    """Everything that can change of one agent, as it is from now on."""
    await update_row(connection, "agents", _changing(agent), key=("org_id", "agent_id"))


def _changing(agent: Agent) -> dict[str, object]:
    """By column, with the key."""
    return {
        "org_id": agent.org_id,
        "agent_id": agent.agent_id,
        "name": agent.name,
        "description": agent.description,
        "status": agent.status,
        "updated_at": agent.updated_at,
        "owner": agent.owner,
        "tags": list(agent.tags),
        "requests_per_minute": agent.limits.requests_per_minute,
        "open_approvals": agent.limits.open_approvals,
        "status_reason": agent.status_reason,
    }


async def find_agent(connection: Connection, org_id: str, agent_id: str, *, lock: bool = False) -> Agent | None:
    """``lock`` it before changing it."""
    cursor = await connection.execute(
        _SELECT_AGENT + " WHERE org_id = %s AND agent_id = %s" + (" FOR UPDATE" if lock else ""),
        [org_id, agent_id],
    )
    row = await cursor.fetchone()
    return None if row is None else agent_of(row)


async def get_agent(connection: Connection, org_id: str, agent_id: str, *, lock: bool = False) -> Agent:
    """Raises NotFoundError."""
    agent = await find_agent(connection, org_id, agent_id, lock=lock)
    if agent is None:
        raise NotFoundError(f"there is no agent {agent_id}")
    return agent


async def find_agent_by_name(connection: Connection, org_id: str, name: str) -> Agent | None:
    """The oldest agent of this name; names are not unique."""
    cursor = await connection.execute(
        _SELECT_AGENT + " WHERE org_id = %s AND name = %s ORDER BY agent_id LIMIT 1",
        [org_id, name],
    )
    row = await cursor.fetchone()
    return None if row is None else agent_of(row)


async def agent_names(connection: Connection, org_id: str, agent_ids: Collection[str]) -> dict[str, str]:
    """By id; without those that are not there."""
    cursor = await connection.execute(
        "SELECT agent_id, name FROM agents WHERE org_id = %s AND agent_id = ANY(%s)", [org_id, list(agent_ids)]
    )
    return {row["agent_id"]: row["name"] for row in await cursor.fetchall()}


async def agent_ids_of(connection: Connection, org_id: str, name_or_id: str) -> list[str]:
    """The agent with that identifier, else every agent that is called so: an agent may have another's identifier as
    its name."""
    agent_id = full_id(IdPrefix.AGENT, name_or_id)
    cursor = await connection.execute(
        "SELECT agent_id FROM agents WHERE org_id = %(org)s AND (agent_id = %(id)s OR name = %(name)s)"
        " ORDER BY agent_id",
        {"org": org_id, "id": agent_id, "name": name_or_id},
    )
    found = [row["agent_id"] for row in await cursor.fetchall()]
    return [agent_id] if agent_id in found else found


async def insert_key(connection: Connection, key: ApiKey, key_hash: bytes) -> None:
    row: dict[str, object] = {
        "org_id": key.org_id,
        "key_id": key.key_id,
        "kind": key.kind,
        "agent_id": key.agent_id,
        "user_id": key.user_id,
        "name": key.name,
        "display": key.display,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
        "key_hash": key_hash,
    }
    await insert_row(connection, "api_keys", row)


async def find_key(
    connection: Connection, org_id: str, key_id: str, *, agent_id: str | None = None, lock: bool = False
) -> ApiKey | None:
    """One key; with ``agent_id`` only where it is that agent's. ``lock`` it before changing it."""
    cursor = await connection.execute(
        SELECT_KEYS + " WHERE k.org_id = %s AND k.key_id = %s"
        " AND (%s::text IS NULL OR k.agent_id = %s)" + (" FOR UPDATE OF k" if lock else ""),
        [org_id, key_id, agent_id, agent_id],
    )
    row = await cursor.fetchone()
    return None if row is None else key_of(row)


async def get_key(
    connection: Connection, org_id: str, key_id: str, *, agent_id: str | None = None, lock: bool = False
) -> ApiKey:
    """Raises NotFoundError."""
    key = await find_key(connection, org_id, key_id, agent_id=agent_id, lock=lock)
    if key is None:
        raise NotFoundError(f"there is no key {key_id}")
    return key


async def usable_keys_of_agent(connection: Connection, org_id: str, agent_id: str, now: datetime) -> list[ApiKey]:
    """Keys that work at this moment, newest first, locked: a rotation and a revocation come one after the other."""
    cursor = await connection.execute(
        SELECT_KEYS + " WHERE k.org_id = %s AND k.agent_id = %s AND k.revoked_at IS NULL"
        " AND (k.expires_at IS NULL OR k.expires_at > %s) ORDER BY k.key_id DESC FOR UPDATE OF k",
        [org_id, agent_id, now],
    )
    return [key_of(row) async for row in cursor]


async def revoke_keys(connection: Connection, org_id: str, key_ids: Sequence[str], at: datetime) -> None:
    await connection.execute(
        "UPDATE api_keys SET revoked_at = %s WHERE org_id = %s AND key_id = ANY (%s) AND revoked_at IS NULL",
        [at, org_id, list(key_ids)],
    )


async def expire_keys(connection: Connection, org_id: str, key_ids: Sequence[str], at: datetime) -> None:
    """Bring the end of these keys forward; never later than it was."""
    await connection.execute(
        "UPDATE api_keys SET expires_at = least(expires_at, %s) WHERE org_id = %s AND key_id = ANY (%s)",
        [at, org_id, list(key_ids)],
    )


async def find_key_by_hash(connection: Connection, key_hash: bytes) -> FoundKey | None:
    """Across organizations, through the definer function: the hash of 256 random bits names one key or none."""
    cursor = await connection.execute("SELECT * FROM key_by_hash(%s)", [key_hash])
    row = await cursor.fetchone()
    if row is None:
        return None
    return FoundKey(
        org_id=row["org_id"],
        key_id=row["key_id"],
        kind=KeyKind(row["kind"]),
        agent_id=row["agent_id"],
        agent_name=row["agent_name"],
        agent_status=None if row["agent_status"] is None else AgentStatus(row["agent_status"]),
        user_id=row["user_id"],
        scopes=frozenset(Scope(scope) for scope in row["scopes"]),
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        generation=row["generation"],
        limits=AgentLimits(row["requests_per_minute"], row["open_approvals"]),
        stopped_at=row["stopped_at"],
        owner_roles=None if row["owner_roles"] is None else frozenset(Role(role) for role in row["owner_roles"]),
        owner_issuer=row["owner_issuer"],
    )


async def set_key_owner(connection: Connection, org_id: str, key_id: str, user_id: str) -> None:
    """Who answers for it from now on."""
    await connection.execute(
        "UPDATE api_keys SET user_id = %s WHERE org_id = %s AND key_id = %s", [user_id, org_id, key_id]
    )


async def touch_keys(connection: Connection, used: Sequence[tuple[str, str]]) -> None:
    """Note that these keys, as (organization, key), were used just now."""
    await connection.execute("SELECT touch_keys(%s, %s)", [[org for org, _ in used], [key for _, key in used]])


def agent_of(row: DictRow) -> Agent:
    """A row of ``agents`` with all its columns."""
    return Agent(
        org_id=row["org_id"],
        agent_id=row["agent_id"],
        name=row["name"],
        description=row["description"],
        status=AgentStatus(row["status"]),
        created_by=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        owner=row["owner"],
        tags=tuple(row["tags"]),
        limits=AgentLimits(row["requests_per_minute"], row["open_approvals"]),
        status_reason=row["status_reason"],
    )


def key_of(row: DictRow) -> ApiKey:
    """A row of ``api_keys``."""
    return ApiKey(
        org_id=row["org_id"],
        key_id=row["key_id"],
        kind=KeyKind(row["kind"]),
        agent_id=row["agent_id"],
        user_id=row["user_id"],
        name=row["name"],
        display=row["display"],
        scopes=frozenset(Scope(scope) for scope in row["scopes"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
        stopped_at=row["stopped_at"],
    )
