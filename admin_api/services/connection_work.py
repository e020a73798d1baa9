"""What the routes of connections work with."""

from msgspec import Struct

from headgate.approvals.change_account import end_what_was_asked
from headgate.connections.authorize import AuthorizeConnection
from headgate.connections.check import CheckConnection
from headgate.connections.connect_bluesky import ConnectBluesky
from headgate.connections.connect_mastodon import ConnectMastodon
from headgate.connections.open_credential import OpenCredentials
from headgate.connections.refresh import RefreshConnection
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.outgoing.client import OutgoingClient
from headgate.vault.service import Vault


class ConnectionWork(Struct, frozen=True):
    refreshes: RefreshConnection
    authorizes: AuthorizeConnection
    checks: CheckConnection
    bluesky: ConnectBluesky
    mastodon: ConnectMastodon


def connection_work(database: Database, vault: Vault, client: OutgoingClient, clock: Clock) -> ConnectionWork:
    refreshes = RefreshConnection(database, vault, client, clock)
    authorizes = AuthorizeConnection(database, vault, refreshes, clock, end_what_was_asked)
    checks = CheckConnection(database, OpenCredentials(database, vault, clock), client, clock)
    return ConnectionWork(
        refreshes,
        authorizes,
        checks,
        ConnectBluesky(database, vault, refreshes, clock, end_what_was_asked),
        ConnectMastodon(database, vault, refreshes, authorizes, checks, end_what_was_asked),
    )
