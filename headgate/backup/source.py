"""The database that is backed up: the embedded one, running or not, or one of the operator's own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from headgate.configuration.settings import Part, Settings
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres
from headgate.runtime.database_roles import check_password
from headgate.runtime.folders import instance_lock
from headgate.runtime.postgres import SUPERUSER, PostgresServer
from headgate.runtime.secrets_file import load_secrets
from headgate.runtime.server_process import start
from headgate.runtime.servers import brings_database, postgres_of


@asynccontextmanager
async def opened_database(settings: Settings) -> AsyncIterator[Secret]:
    """Its address, for a role that sees all rows where the database is the embedded one.

    Where no instance runs, the embedded server runs for as long as the block, and no instance starts meanwhile. Raises
    UnavailableError, ConflictError.
    """
    if not brings_database(settings):
        yield settings.backup_database_url or settings.database_url_of(Part.OWNER)
        return
    data = settings.data
    if not data.postgres.is_dir():
        raise UnavailableError(
            f"there is no database in {data.root}: name the data directory with --data-dir, or set"
            " HEADGATE_DATABASE_URL to the address of your own"
        )
    postgres.check_version(data.postgres)
    server = postgres_of(settings)
    password = load_secrets(data).passwords[SUPERUSER]
    async with AsyncExitStack() as held:
        try:
            held.enter_context(instance_lock(data))
        except ConflictError:
            pass  # an instance runs, and its server with it
        else:
            await held.enter_async_context(running_server(server, password))
        yield server.url(SUPERUSER, password)


@asynccontextmanager
async def running_server(server: PostgresServer, password: Secret, programs: Path | None = None) -> AsyncIterator[None]:
    """An embedded server without an instance; ``programs``: of another major version. The caller holds the instance's
    lock. Raises UnavailableError."""
    await postgres.clear_stale_lock(server)
    running = await start(server.program() if programs is None else server.program_of(programs))
    try:
        await postgres.wait_until_ready(server, running)
        await check_password(server, password)
        yield
    finally:
        await running.stop()
