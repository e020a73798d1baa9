"""What administrators do with connections. Each change raises the organization's generation and is recorded.

A transaction is the caller's: these functions only take part in it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.agents.store import find_agent
from headgate.audit.model import EventType
from headgate.connections.credential import KeptSecrets, read_kept_secrets
from headgate.connections.draft import ConnectionDraft, invalid
from headgate.connections.model import ANY, Connection, ConnectionKind, ConnectionStatus
from headgate.connections.store import (
    count_there,
    delete_connection,
    get_connection,
    insert_connection,
    name_is_taken,
    save_connection,
)
from headgate.db import database
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ConflictError, PreconditionFailedError, UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.organizations.change import OrganizationChange
from headgate.vault.service import Vault

MAX_CONNECTIONS: Final = 10_000
CHECK_EVERY: Final = timedelta(minutes=15)


class Binding(Struct, frozen=True):
    """Whose calls a connection serves; None: as before. ``same_account``: ``secrets`` are known to be of the account
    that the connection stands for; ``seen_revision``: it is changed only where it is still that one."""

    agents: frozenset[str] | None = None
    tools: frozenset[str] | None = None
    needs_placeholder: bool | None = None
    secrets: Mapping[str, Secret] | None = None
    same_account: bool = False
    seen_revision: int | None = None


async def create_connection(
    change: OrganizationChange,
    draft: ConnectionDraft,
    vault: Vault,
    *,
    status: ConnectionStatus = ConnectionStatus.ACTIVE,
    expires_at: datetime | None = None,
    refresh_at: datetime | None = None,
) -> Connection:
    """Raises ValidationError, ConflictError, UnavailableError (the secret cannot be encrypted)."""
    if await name_is_taken(change.connection, change.org_id, draft.name):
        raise ConflictError(f"A connection named {draft.name} already exists.", details={"field": "name"})
    if await count_there(change.connection, change.org_id) >= MAX_CONNECTIONS:
        raise ConflictError(f"an organization has at most {MAX_CONNECTIONS} connections")
    await _require_agents(change.connection, change.org_id, draft.agents)
    connection = Connection(
        org_id=change.org_id,
        connection_id=new_id(IdPrefix.CONNECTION),
        name=draft.name,
        platform=draft.platform,
        kind=draft.kind,
        status=status,
        status_reason=None,
        hosts=draft.hosts,
        place=draft.place,
        agents=draft.agents,
        tools=draft.tools,
        needs_placeholder=draft.needs_placeholder,
        account=draft.account,
        scopes=draft.scopes,
        settings=draft.settings,
        revision=1,
        secret_version=1 if draft.secrets else 0,
        expires_at=expires_at,
        refresh_at=refresh_at,
        check_at=change.at + CHECK_EVERY if status is ConnectionStatus.ACTIVE else None,
        checked_at=None,
        failures=0,
        owner_id=change.user_id,
        account_since=change.at,
        created_at=change.at,
        updated_at=change.at,
    )
    if draft.secrets:
        kept = KeptSecrets({name: value.reveal() for name, value in draft.secrets.items()})
        await vault.keep(change.connection, change.org_id, connection.vault_name, kept.text())
    await insert_connection(change.connection, connection)
    await change.raise_generation()
    await record(change, EventType.CONNECTION_CREATED, connection)
    return connection


async def rebind_connection(
    change: OrganizationChange, connection_id: str, binding: Binding, vault: Vault
) -> Connection:
    """Raises NotFoundError, ValidationError, PreconditionFailedError, UnavailableError."""
    before = await get_connection(change.connection, change.org_id, connection_id, lock=True)
    if binding.seen_revision not in (None, before.revision):
        raise PreconditionFailedError(
            f"the connection {before.name} has changed in the meantime. Its revision is now {before.revision}"
        )
    agents = before.agents if binding.agents is None else binding.agents
    await _require_agents(change.connection, change.org_id, agents - before.agents)
    after = replace(
        before,
        agents=agents,
        tools=before.tools if binding.tools is None else binding.tools,
        needs_placeholder=before.needs_placeholder if binding.needs_placeholder is None else binding.needs_placeholder,
        revision=before.revision + 1,
        updated_at=change.at,
    )
    if binding.secrets is not None:
        kept = KeptSecrets({name: value.reveal() for name, value in binding.secrets.items()})
        await vault.keep(change.connection, change.org_id, after.vault_name, kept.text())
        mends = after.kind is not ConnectionKind.CLIENT_CREDENTIALS
        after = replace(
            after,
            secret_version=after.secret_version + 1,
            status=ConnectionStatus.ACTIVE if mends else ConnectionStatus.PENDING,
            status_reason=None,
            failures=0,
            expires_at=None,
            refresh_at=None if mends else change.at,
            check_at=change.at + CHECK_EVERY if mends else None,
            # A client's credentials name it in the settings, which stay.
            account_since=after.account_since if binding.same_account or not mends else change.at,
        )
    await save_connection(change.connection, after)
    await change.raise_generation()
    await record(change, EventType.CONNECTION_UPDATED, after)
    return after


async def remove_connection(change: OrganizationChange, connection_id: str, vault: Vault) -> Connection:
    """Its secret is forgotten at once. Raises NotFoundError."""
    connection = await get_connection(change.connection, change.org_id, connection_id, lock=True)
    await delete_connection(change.connection, change.org_id, connection_id, change.at)
    await vault.forget(change.connection, change.org_id, connection.vault_name)
    await change.raise_generation()
    await record(change, EventType.CONNECTION_DELETED, connection)
    return connection


async def kept_secrets(db: database.Connection, connection: Connection, vault: Vault) -> KeptSecrets:
    """Raises UnavailableError: it does not open, or there is none."""
    name = connection.vault_name
    found = (await vault.open(db, connection.org_id, [name])).get(name)
    if found is None:
        raise UnavailableError(f"the connection {connection.name} has no stored secret. Connect it again.")
    return read_kept_secrets(found)


async def record(change: OrganizationChange, event_type: EventType, connection: Connection, **more: JsonValue) -> None:
    data: JsonObject = {
        "connection_id": connection.connection_id,
        "name": connection.name,
        "platform": connection.platform,
        "kind": connection.kind.value,
        "hosts": list[JsonValue]([str(host) for host in connection.hosts]),
        "agents": list[JsonValue](sorted(connection.agents)),
        "tools": list[JsonValue](sorted(connection.tools)),
        "owner_id": connection.owner_id,
        **more,
    }
    await change.record(event_type, data)


async def _require_agents(db: database.Connection, org_id: str, agents: frozenset[str]) -> None:
    for agent_id in sorted(agents - {ANY}):
        if await find_agent(db, org_id, agent_id) is None:
            raise invalid("agents", f"there is no agent {agent_id}")
