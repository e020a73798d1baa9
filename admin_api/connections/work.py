"""What the routes of connections work with."""

from dataclasses import dataclass

from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.outgoing.client import OutgoingClient
from headgate.vault.service import Vault
from headgate.workflows.authorize_connection import AuthorizeConnection
from headgate.workflows.check_connection import CheckConnection
from headgate.workflows.connect_bluesky import ConnectBluesky
from headgate.workflows.connect_mastodon import ConnectMastodon
from headgate.workflows.open_credential import OpenCredentials
from headgate.workflows.refresh_connection import RefreshConnection


@dataclass(frozen=True, slots=True)
class ConnectionWork:
    refreshes: RefreshConnection
    authorizes: AuthorizeConnection
    checks: CheckConnection
    bluesky: ConnectBluesky
    mastodon: ConnectMastodon


def connection_work(database: Database, vault: Vault, client: OutgoingClient, clock: Clock) -> ConnectionWork:
    refreshes = RefreshConnection(database, vault, client, clock)
    authorizes = AuthorizeConnection(database, vault, refreshes, clock)
    checks = CheckConnection(database, OpenCredentials(database, vault, clock), client, clock)
    return ConnectionWork(
        refreshes,
        authorizes,
        checks,
        ConnectBluesky(database, vault, refreshes, clock),
        ConnectMastodon(database, vault, refreshes, authorizes, checks),
    )
