"""Rows of agents and keys. All of it inside a transaction of the organization, but for ``find_key_by_hash``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg import sql
from psycopg.rows import DictRow

from headgate.agents.model import Agent, AgentStatus, ApiKey
from headgate.agents.scopes import KeyKind, Scope
from headgate.db.bounded_count import BoundedCount, count_rows
from headgate.db.database import Connection

_AGENT: Final = "org_id, agent_id, name, description, status, created_by, created_at, updated_at"
_KEY: Final = (
    "org_id, key_id, kind, agent_id, user_id, name, display, scopes, created_at, expires_at, revoked_at, last_used_at"
)
_SELECT_AGENT: Final = f"SELECT {_AGENT} FROM agents"  # noqa: S608 - columns of this file
_SELECT_KEY: Final = f"SELECT {_KEY} FROM api_keys"  # noqa: S608 - columns of this file


@dataclass(frozen=True, slots=True)
class FoundKey:
    """What the database says of a presented key, valid or not."""

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


async def insert_agent(connection: Connection, agent: Agent) -> None:
    await connection.execute(
        f"INSERT INTO agents ({_AGENT}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608 - a constant of this file
        [
            agent.org_id,
            agent.agent_id,
            agent.name,
            agent.description,
            agent.status,
            agent.created_by,
            agent.created_at,
            agent.updated_at,
        ],
    )


async def find_agent(connection: Connection, org_id: str, agent_id: str) -> Agent | None:
    cursor = await connection.execute(
        _SELECT_AGENT + " WHERE org_id = %s AND agent_id = %s",
        [org_id, agent_id],
    )
    row = await cursor.fetchone()
    return None if row is None else _agent(row)


async def find_agent_by_name(connection: Connection, org_id: str, name: str) -> Agent | None:
    """The oldest agent of this name; names are not unique."""
    cursor = await connection.execute(
        _SELECT_AGENT + " WHERE org_id = %s AND name = %s ORDER BY agent_id LIMIT 1",
        [org_id, name],
    )
    row = await cursor.fetchone()
    return None if row is None else _agent(row)


async def list_agents(connection: Connection, org_id: str, *, limit: int, offset: int) -> list[Agent]:
    """Newest first."""
    cursor = await connection.execute(
        _SELECT_AGENT + " WHERE org_id = %s ORDER BY agent_id DESC LIMIT %s OFFSET %s",
        [org_id, limit, offset],
    )
    return [_agent(row) async for row in cursor]


async def count_agents(connection: Connection, org_id: str, *, exact: bool) -> BoundedCount:
    return await count_rows(connection, sql.SQL("agents WHERE org_id = %(org)s"), {"org": org_id}, exact=exact)


async def insert_key(connection: Connection, key: ApiKey, key_hash: bytes) -> None:
    await connection.execute(
        f"INSERT INTO api_keys ({_KEY}, key_hash) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608 - a constant of this file
        [
            key.org_id,
            key.key_id,
            key.kind,
            key.agent_id,
            key.user_id,
            key.name,
            key.display,
            sorted(key.scopes),
            key.created_at,
            key.expires_at,
            key.revoked_at,
            key.last_used_at,
            key_hash,
        ],
    )


async def find_key(
    connection: Connection, org_id: str, key_id: str, *, agent_id: str | None = None, lock: bool = False
) -> ApiKey | None:
    """One key; with ``agent_id`` only where it is that agent's. ``lock`` it before changing it."""
    cursor = await connection.execute(
        _SELECT_KEY + " WHERE org_id = %s AND key_id = %s"
        " AND (%s::text IS NULL OR agent_id = %s)" + (" FOR UPDATE" if lock else ""),
        [org_id, key_id, agent_id, agent_id],
    )
    row = await cursor.fetchone()
    return None if row is None else _key(row)


async def list_keys(
    connection: Connection, org_id: str, *, agent_id: str | None = None, limit: int, offset: int
) -> list[ApiKey]:
    """Newest first; with ``agent_id`` that agent's only."""
    cursor = await connection.execute(
        _SELECT_KEY + " WHERE org_id = %s AND (%s::text IS NULL OR agent_id = %s)"
        " ORDER BY key_id DESC LIMIT %s OFFSET %s",
        [org_id, agent_id, agent_id, limit, offset],
    )
    return [_key(row) async for row in cursor]


async def count_keys(connection: Connection, org_id: str, *, agent_id: str | None = None, exact: bool) -> BoundedCount:
    """With ``agent_id`` that agent's only."""
    source = sql.SQL("api_keys WHERE org_id = %(org)s AND (%(agent)s::text IS NULL OR agent_id = %(agent)s)")
    return await count_rows(connection, source, {"org": org_id, "agent": agent_id}, exact=exact)


async def usable_keys_of_agent(connection: Connection, org_id: str, agent_id: str, now: datetime) -> list[ApiKey]:
    """Keys that work at this moment, newest first, locked: a rotation and a revocation come one after the other."""
    cursor = await connection.execute(
        _SELECT_KEY + " WHERE org_id = %s AND agent_id = %s AND revoked_at IS NULL"
        " AND (expires_at IS NULL OR expires_at > %s) ORDER BY key_id DESC FOR UPDATE",
        [org_id, agent_id, now],
    )
    return [_key(row) async for row in cursor]


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
    )


async def touch_keys(connection: Connection, used: Sequence[tuple[str, str]]) -> None:
    """Note that these keys, as (organization, key), were used just now."""
    await connection.execute("SELECT touch_keys(%s, %s)", [[org for org, _ in used], [key for _, key in used]])


def _agent(row: DictRow) -> Agent:
    return Agent(
        org_id=row["org_id"],
        agent_id=row["agent_id"],
        name=row["name"],
        description=row["description"],
        status=AgentStatus(row["status"]),
        created_by=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _key(row: DictRow) -> ApiKey:
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
    )
