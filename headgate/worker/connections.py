"""What looks after connections in this process: tokens before they expire, and whether credentials still work."""

import asyncio
from contextlib import AsyncExitStack

from headgate.connections.attend import AttendConnections
from headgate.connections.check import CheckConnection
from headgate.connections.open_credential import OpenCredentials
from headgate.connections.refresh import RefreshConnection
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.vault.service import vault_of
from headgate.worker.loop import WATCHED_SECONDS, Loop
from headgate.worker.settings import WorkerSettings


def connection_loops(settings: WorkerSettings, database: Database, clock: Clock, stack: AsyncExitStack) -> list[Loop]:
    """``stack`` closes what they stand on."""
    resolver = SystemResolver()
    stack.callback(resolver.close)
    client = OutgoingClient(trusted_roots(settings.upstream_ca_file), resolver, settings.upstream_proxy)
    vault = vault_of(settings)
    attend = AttendConnections(
        database,
        RefreshConnection(database, vault, client, clock),
        CheckConnection(database, OpenCredentials(database, vault, clock), client, clock),
        clock,
    )
    return [
        Loop("connections", attend.run, busy_seconds=0.2, idle_seconds=WATCHED_SECONDS, wake=asyncio.Event()),
        Loop("connection_flows", attend.forget, busy_seconds=1.0, idle_seconds=600.0),
    ]
