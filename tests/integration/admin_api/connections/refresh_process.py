"""A process that refreshes one connection: ``python -m … DSN KEYS_FILE ROOTS ORGANIZATION CONNECTION VERSION``."""

import asyncio
import sys
from pathlib import Path

from headgate.connections.refresh import RefreshConnection
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.vault.service import Vault


async def main() -> None:
    dsn, keys_file, roots, org_id, connection_id, version = sys.argv[1:]
    database = Database(Secret(dsn))
    await database.open()
    client = OutgoingClient(trusted_roots(Path(roots)), SystemResolver())
    refreshes = RefreshConnection(database, Vault(Path(keys_file)), client, system_clock)
    connection = await refreshes.refresh(org_id, connection_id, seen_version=int(version))
    await database.close()
    print(connection.secret_version)  # noqa: T201 - its answer


asyncio.run(main())
