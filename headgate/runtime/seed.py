"""What an instance starts with: an organization with the default policies, and, with ``headgate up``, an agent.

Each step looks first, so that seeding again changes nothing. It is done as the owner (an organization can be made
by nobody else) and as the API's role (which alone may look a key up).
"""

from datetime import datetime
from typing import Final

import structlog
from msgspec.structs import replace

from headgate.agents.keys import hash_key
from headgate.agents.model import AgentStatus
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_agent, create_key
from headgate.agents.store import find_agent_by_name, find_key_by_hash
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID
from headgate.organizations.store import insert_organization
from headgate.runtime.secrets_file import InstanceSecrets
from headgate.sessions.store import has_session
from headgate.vault.service import Vault
from headgate.vault.store import has_writers, used_keys

_log = structlog.get_logger(__name__)

ORGANIZATION_NAME: Final = "Default"
AGENT_NAME: Final = "default"


async def seed_organization(owner_url: Secret, clock: Clock, vault: Vault | None = None) -> None:
    """Creates the default organization with the default policies, unless it exists, and the first master key of
    ``vault``, unless the database has been used with others. Raises UnavailableError."""
    database = Database(owner_url, max_connections=1)
    await database.open()
    try:
        by = Change(DEFAULT_ORGANIZATION_ID, SYSTEM, None, clock())
        async with begin_change(database, by) as change:
            if await insert_organization(change.connection, DEFAULT_ORGANIZATION_ID, ORGANIZATION_NAME):
                from headgate.nlp_policies.service import seed_default_nlp_policies  # noqa: PLC0415 - a first start alone
                from headgate.policies.service import seed_default_policies  # noqa: PLC0415 - as above

                await seed_default_policies(change)
                await seed_default_nlp_policies(change)
                _log.info("organization_seeded", org_id=DEFAULT_ORGANIZATION_ID)
            if vault is not None and not vault.keys_file.exists():
                if await used_keys(change.connection) or await has_writers(change.connection):
                    _log.critical(
                        "master_keys_missing", path=str(vault.keys_file), what="calls are refused without them"
                    )
                else:
                    await vault.make_first_keys(change.connection, DEFAULT_ORGANIZATION_ID)
    finally:
        await database.close()


async def seed_agent(api_url: Secret, kept: InstanceSecrets, clock: Clock) -> InstanceSecrets:
    """An agent with a key that works: the one of last time, or a new one. Raises UnavailableError."""
    database = Database(api_url, max_connections=1)
    await database.open()
    try:
        if kept.agent_key is not None and await _works(database, kept.agent_key, clock()):
            return kept
        by = Change(DEFAULT_ORGANIZATION_ID, SYSTEM, None, clock())
        async with begin_change(database, by) as change:
            agent = await find_agent_by_name(change.connection, DEFAULT_ORGANIZATION_ID, AGENT_NAME)
            if agent is None or agent.status is not AgentStatus.ACTIVE:
                agent, issued = await create_agent(
                    change, name=AGENT_NAME, description="Made by headgate up, for headgate env."
                )
            else:
                issued = await create_key(
                    change,
                    kind=KeyKind.AGENT,
                    scopes=KIND_SCOPES[KeyKind.AGENT],
                    agent_id=agent.agent_id,
                    name="headgate up",
                )
        return replace(kept, agent_id=agent.agent_id, agent_key=issued.key)
    finally:
        await database.close()


async def somebody_signed_in(api_url: Secret) -> bool:
    """Whether the default organization ever had a session of a browser. Raises UnavailableError."""
    database = Database(api_url, max_connections=1)
    await database.open()
    try:
        async with database.transaction(DEFAULT_ORGANIZATION_ID) as connection:
            return await has_session(connection, DEFAULT_ORGANIZATION_ID)
    finally:
        await database.close()


async def _works(database: Database, key: Secret, now: datetime) -> bool:
    async with database.across_organizations() as connection:
        found = await find_key_by_hash(connection, hash_key(key.reveal()))
    return (
        found is not None
        and found.revoked_at is None
        and (found.expires_at is None or found.expires_at > now)
        and found.agent_status is AgentStatus.ACTIVE
    )
