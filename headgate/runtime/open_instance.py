"""The composition of an instance: database, Valkey, preparation and parts, from settings to ready."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from headgate.configuration.settings import Settings, environment_with_file
from headgate.kernel.secrets import Secret
from headgate.runtime.fork_server import ForkServer
from headgate.runtime.parts import api_part, proxy_part, settled_environment, worker_part
from headgate.runtime.prepared import Prepared, read_prepared, read_token
from headgate.runtime.runtime_file import RuntimeInformation
from headgate.runtime.secrets_file import load_secrets
from headgate.runtime.server_process import Program
from headgate.runtime.servers import Servers, place_servers, start_servers
from headgate.runtime.supervisor import Supervisor, together


class OpenedInstance(Struct, frozen=True):
    """What is ready, for those who use it."""

    settings: Settings
    servers: Servers
    prepared: Prepared

    def describe(self, pids: Mapping[str, Sequence[int]]) -> RuntimeInformation:
        secrets = self.servers.secrets
        return RuntimeInformation(
            api_url=self.settings.api_url,
            proxy_url=self.settings.local_proxy_url,
            ca_cert=self.prepared.ca_cert,
            agent_id=secrets.agent_id or "",
            agent_key=secrets.agent_key or Secret(""),
            admin_token=self.prepared.admin_token,
            dashboard_url=self.settings.api_url + "/",
            database_url=self.servers.administrator,
            redis_url=self.servers.valkey,
            pids=pids,
        )


async def open_instance(settings: Settings, supervisor: Supervisor, fork_server: ForkServer) -> OpenedInstance:
    """Returns when all parts serve; ``supervisor`` keeps them running. Raises HeadgateError."""
    servers = place_servers(settings)
    await start_servers(settings, servers, supervisor)
    prepared = read_prepared(await fork_server.ask(_task("prepare", settings)))
    servers = replace(servers, secrets=load_secrets(settings.data))  # the task has stored the agent's id and key
    parts = [proxy_part(settings, servers, fork_server)] * settings.proxy_workers
    # The worker last: what it does when it starts can wait until the others are there.
    parts += [api_part(settings, servers, fork_server), worker_part(settings, servers, fork_server)]
    await together(*(supervisor.start(part) for part in parts))
    return OpenedInstance(settings, servers, prepared)


async def new_token(settings: Settings, fork_server: ForkServer) -> Secret:
    """For the administrator. Raises UnavailableError."""
    return read_token(await fork_server.ask(_task("token", settings)))


def _task(name: str, settings: Settings) -> Program:
    """With the settings of the whole instance. Of a database that is not embedded they have the owner's login."""
    return Program(name, (name,), settled_environment(environment_with_file(), settings))
