"""The embedded database and Valkey of an instance: started and kept, and where the parts reach them.

``headgate.runtime.prepare`` works in the database, in another process: this module does not load its driver.
"""

from msgspec import Struct

from headgate.configuration.settings import Part as Login
from headgate.configuration.settings import Settings
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres, valkey
from headgate.runtime.account import server_account
from headgate.runtime.folders import private_folder, socket_folder
from headgate.runtime.postgres import PostgresServer
from headgate.runtime.secrets_file import InstanceSecrets, load_secrets
from headgate.runtime.server_process import RunningProgram
from headgate.runtime.supervisor import Part, Supervisor
from headgate.runtime.valkey import ValkeyServer


class Servers(Struct, frozen=True):
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


def place_servers(settings: Settings) -> Servers:
    """Where the servers will be reached, before they run. Raises HeadgateError."""
    secrets = load_secrets(settings.data)
    valkey_url = settings.redis_url or _valkey_of(settings).url
    if not brings_database(settings):
        databases = {login: settings.database_url_of(login) for login in Login}
        return Servers(databases, databases[Login.OWNER], valkey_url, secrets)
    server = postgres_of(settings)
    databases = {login: server.url(f"headgate_{login}", secrets.passwords[f"headgate_{login}"]) for login in Login}
    administrator = server.url(postgres.SUPERUSER, secrets.passwords[postgres.SUPERUSER])
    return Servers(databases, administrator, valkey_url, secrets)


async def start_servers(settings: Settings, servers: Servers, supervisor: Supervisor) -> None:
    """Starts what is not configured. Raises HeadgateError."""
    if settings.redis_url is None:
        await start_valkey(_valkey_of(settings), supervisor)  # a twentieth of a second
    if brings_database(settings):
        await start_postgres(postgres_of(settings), servers.secrets, supervisor)


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
        await postgres.wait_until_ready(server, running)

    await supervisor.start(Part(server.program(), ready, before))


def _valkey_of(settings: Settings) -> ValkeyServer:
    data = settings.data
    account = server_account([valkey.binary(), data.valkey])
    folder = private_folder(data.valkey, account)
    return ValkeyServer(folder, socket_folder(data, account), data.logs / "valkey.log", account)


async def start_valkey(server: ValkeyServer, supervisor: Supervisor) -> None:
    """Kept running. Raises UnavailableError."""

    async def ready(running: RunningProgram) -> None:
        await valkey.wait_until_ready(server, running)

    await supervisor.start(Part(server.program(), ready))
