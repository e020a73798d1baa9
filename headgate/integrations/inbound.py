"""Inbound webhook addresses, with their organization and its settings."""

from typing import Final

from msgspec import Struct

from headgate.db.database import Database
from headgate.integrations.form import IntegrationSettings
from headgate.integrations.model import Integration
from headgate.integrations.service import load_secrets, load_stored
from headgate.integrations.store import connection_owner
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, addressed_id
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.organizations.stored_rules import destination_rules
from headgate.vault.service import Vault

IGNORED: Final = "ignored"
REPEATED: Final = "repeated"


class Connected(Struct, frozen=True):
    """An inbound address with the settings of its organization."""

    org_id: str
    connection_id: str
    integration: Integration
    settings: IntegrationSettings
    secrets: dict[str, Secret]
    rules: DestinationRules


async def connected_to(database: Database, vault: Vault, integration: Integration, connection_id: str) -> Connected:
    """Raises NotFoundError: unknown address, another integration's, or disabled."""
    parsed = addressed_id(IdPrefix.CONNECTION, connection_id)
    async with database.across_organizations() as connection:
        owner = await connection_owner(connection, parsed)
    if owner is None or owner[1] is not integration:
        raise NotFoundError("no such connection")
    org_id = owner[0]
    async with database.transaction(org_id) as connection:
        stored = await load_stored(connection, org_id, integration, vault)
        if stored is None or not stored.settings.enabled:
            raise NotFoundError("no such connection")
        secrets = await load_secrets(connection, org_id, integration, vault)
        rules = await destination_rules(connection, org_id)
    return Connected(org_id, parsed, integration, stored.settings, secrets, rules)
