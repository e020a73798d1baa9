"""The embedded database and Valkey of an instance: made, started and kept, and where the parts reach them."""

from dataclasses import dataclass

from headgate.configuration.settings import Part as Login
from headgate.configuration.settings import Settings
from headgate.db.migrate import migrate
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres, valkey
from headgate.runtime.account import server_account
from headgate.runtime.database_roles import prepare_database
from headgate.runtime.folders import private_folder, socket_folder
from headgate.runtime.postgres import PostgresServer
from headgate.runtime.secrets_file import InstanceSecrets, load_secrets
from headgate.runtime.seed import seed_organization
from headgate.runtime.server_process import RunningProgram
from headgate.runtime.supervisor import Part, Supervisor
from headgate.runtime.valkey import ValkeyServer


@dataclass(frozen=True, slots=True)
class Servers:
    """Addresses by login. ``administrator``: sees everything, for people and scripts (the runtime file)."""

    databases: dict[Login, Secret]
    administrator: Secret
    valkey: Secret
    secrets: InstanceSecrets


def brings_database(settings: Settings) -> bool:
    """Whether the instance runs a PostgreSQL of its own: where no address of one is set."""
    addresses = (
        settings.database_url,
        settings.owner_database_url,
        settings.api_database_url,
        settings.proxy_database_url,
        settings.worker_database_url,
    )
    return all(address is None for address in addresses)


async def open_servers(settings: Settings, supervisor: Supervisor) -> Servers:
    """Start what is not configured, migrate, seed. Raises HeadgateError."""
    secrets = load_secrets(settings.data)
    valkey_url = await _open_valkey(settings, supervisor)  # a twentieth of a second
    databases, administrator = await _open_database(settings, secrets, supervisor)
    return Servers(databases, administrator, valkey_url, secrets)


async def _open_database(
    settings: Settings, secrets: InstanceSecrets, supervisor: Supervisor
) -> tuple[dict[Login, Secret], Secret]:
    if brings_database(settings):
        server = postgres_of(settings)
        await start_postgres(server, secrets, supervisor)
        await prepare_database(server, secrets)
        databases = {login: server.url(f"headgate_{login}", secrets.passwords[f"headgate_{login}"]) for login in Login}
        administrator = server.url(postgres.SUPERUSER, secrets.passwords[postgres.SUPERUSER])
    else:
        databases = {login: settings.database_url_of(login) for login in Login}
        administrator = databases[Login.OWNER]
        await migrate(administrator.reveal())
    await seed_organization(databases[Login.OWNER], system_clock)
    return databases, administrator


def postgres_of(settings: Settings) -> PostgresServer:
    """The embedded server of these settings' data directory. Raises UnavailableError."""
    data = settings.data
    account = server_account([postgres.binaries() / "postgres", data.postgres])
    return PostgresServer(data.postgres, socket_folder(data, account), data.logs / "postgres.log", account)


async def start_postgres(server: PostgresServer, secrets: InstanceSecrets, supervisor: Supervisor) -> None:
    """Made if there is none, and kept running. Raises UnavailableError."""
    password = secrets.passwords[postgres.SUPERUSER]
    await postgres.initialize(server, password)

    async def before() -> None:
        await postgres.clear_stale_lock(server)

    async def ready(running: RunningProgram) -> None:
        await postgres.wait_until_ready(server, running, password)

    await supervisor.start(Part(server.program(), ready, before))


async def _open_valkey(settings: Settings, supervisor: Supervisor) -> Secret:
    if settings.redis_url is not None:
        return settings.redis_url
    data = settings.data
    account = server_account([valkey.binary(), data.valkey])
    folder = private_folder(data.valkey, account)
    server = ValkeyServer(folder, socket_folder(data, account), data.logs / "valkey.log", account)
    await start_valkey(server, supervisor)
    return server.url


async def start_valkey(server: ValkeyServer, supervisor: Supervisor) -> None:
    """Kept running. Raises UnavailableError."""

    async def ready(running: RunningProgram) -> None:
        await valkey.wait_until_ready(server, running)

    await supervisor.start(Part(server.program(), ready))
