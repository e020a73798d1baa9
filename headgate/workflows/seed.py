"""What a new installation starts with: an organization, sensible policies, an agent with a key, an administrator.

Done again at each start and harmless then: what is there stays as it is, whatever people made of it.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.agents.keys import hash_key, is_well_formed
from headgate.agents.model import KeyStatus
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import Change, IssuedKey, create_agent, create_key
from headgate.agents.store import find_agent_by_name, find_key_of_hash
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.organizations.local_issuer import LOCAL_ISSUER
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role, TokenIdentity
from headgate.organizations.store import insert_organization, upsert_user
from headgate.policies.service import seed_default_policies

ORGANIZATION_NAME: Final = "default"
AGENT_NAME: Final = "default"

ADMINISTRATOR: Final = TokenIdentity(
    org_id=DEFAULT_ORGANIZATION_ID,
    issuer=LOCAL_ISSUER,
    subject="administrator",
    email="administrator@localhost",
    name="Administrator",
    roles=frozenset({Role.ADMIN}),
)
"""Whom ``headgate up`` mints its token for."""


@dataclass(frozen=True, slots=True)
class Seeded:
    """What ``headgate up`` prints."""

    org_id: str
    agent_id: str
    agent_key: Secret
    user_id: str


async def seed(owner: Database, *, key_file: Path, clock: Clock = system_clock) -> Seeded:
    """Make what is missing. ``owner`` is logged in as the owner's role, which alone may make organizations.

    ``key_file`` (0600) keeps the agent's key, as the database only has its hash; where it is lost, or the key
    in it was revoked, the agent gets one more. Raises UnavailableError.
    """
    org_id = DEFAULT_ORGANIZATION_ID
    async with owner.transaction(org_id) as connection:
        # Of two that start at the same time the second finds everything there.
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('headgate.seed', 0))")
        if await insert_organization(connection, org_id, ORGANIZATION_NAME):
            created = Event(EventType.ORGANIZATION_CREATED, clock(), SYSTEM, {"name": ORGANIZATION_NAME})
            await append(connection, org_id, [created])
        await seed_default_policies(connection, org_id, clock=clock)
        user, _ = await upsert_user(connection, ADMINISTRATOR)
        agent_id, key = await _agent_with_key(connection, org_id, key_file, clock)
        return Seeded(org_id, agent_id, key, user.user_id)


async def _agent_with_key(connection: Connection, org_id: str, key_file: Path, clock: Clock) -> tuple[str, Secret]:
    change = Change(org_id, SYSTEM, None, clock())
    agent = await find_agent_by_name(connection, org_id, AGENT_NAME)
    if agent is None:
        agent, issued = await create_agent(
            connection, change, name=AGENT_NAME, description="The first agent, made with the installation."
        )
        _keep(key_file, issued)
        return agent.agent_id, issued.key
    kept = _kept(key_file)
    if kept is not None:
        known = await find_key_of_hash(connection, org_id, hash_key(kept.reveal()))
        if known is not None and known.agent_id == agent.agent_id and known.status(change.at) is KeyStatus.ACTIVE:
            return agent.agent_id, kept
    issued = await create_key(
        connection,
        change,
        kind=KeyKind.AGENT,
        scopes=KIND_SCOPES[KeyKind.AGENT],
        agent_id=agent.agent_id,
        name="made at start",
    )
    _keep(key_file, issued)
    return agent.agent_id, issued.key


def _kept(key_file: Path) -> Secret | None:
    try:
        text = key_file.read_text("ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UnavailableError(f"the agent's key cannot be read: {key_file}: {error}") from error
    return Secret(text) if is_well_formed(text) else None


def _keep(key_file: Path, issued: IssuedKey) -> None:
    """Before the transaction commits: a key that nobody knows is never left behind."""
    draft = key_file.with_name(f".{key_file.name}.{os.getpid()}")
    try:
        key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(issued.key.reveal() + "\n")
        draft.replace(key_file)
    except OSError as error:
        raise UnavailableError(f"the agent's key cannot be kept: {key_file}: {error}") from error
