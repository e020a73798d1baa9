"""The composition of an instance: database, Valkey and parts, from settings to ready.

A module by itself, which ``instance`` imports after the fork server has begun to load the parts: so both load at once.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.configuration.settings import Part as Login
from headgate.configuration.settings import Settings
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.local_issuer import LocalIssuer, open_local_issuer
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role
from headgate.organizations.sign_in_address import FIRST_ADMINISTRATOR, sign_in_address
from headgate.runtime.fork_server import ForkServer
from headgate.runtime.parts import api_part, proxy_part, worker_part
from headgate.runtime.runtime_file import RuntimeInformation
from headgate.runtime.secrets_file import store_secrets
from headgate.runtime.seed import seed_agent, somebody_signed_in
from headgate.runtime.servers import Servers, open_servers, place_servers
from headgate.runtime.supervisor import Supervisor, together
from proxy.authority import Authority

_TOKEN_LIFETIME: Final = timedelta(days=1)
_FIRST_SIGN_IN_LIFETIME: Final = timedelta(hours=1)


class OpenedInstance(Struct, frozen=True):
    """What is ready, for those who use it."""

    settings: Settings
    servers: Servers
    authority: Authority
    issuer: LocalIssuer

    def describe(self, pids: Mapping[str, Sequence[int]]) -> RuntimeInformation:
        secrets = self.servers.secrets
        return RuntimeInformation(
            api_url=self.settings.api_url,
            proxy_url=self.settings.local_proxy_url,
            ca_cert=str(self.authority.certificate_file),
            agent_id=secrets.agent_id or "",
            agent_key=secrets.agent_key or Secret(""),
            admin_token=self.administrator_token(),
            dashboard_url=self.settings.api_url + "/",
            database_url=self.servers.administrator,
            redis_url=self.servers.valkey,
            pids=pids,
        )

    async def first_sign_in(self) -> Secret | None:
        """A link for the first administrator. It works once, within an hour. None: somebody signed in before. Raises
        UnavailableError."""
        if await somebody_signed_in(self.servers.databases[Login.API]):
            return None
        return sign_in_address(
            self.issuer,
            self.settings.api_url,
            org_id=DEFAULT_ORGANIZATION_ID,
            user=FIRST_ADMINISTRATOR,
            roles=[Role.ADMIN, Role.OPERATOR],
            now=system_clock(),
            lifetime=_FIRST_SIGN_IN_LIFETIME,
        )

    def administrator_token(self) -> Secret:
        """All rights, second factor, for a day."""
        return self.issuer.mint(
            org_id=DEFAULT_ORGANIZATION_ID,
            subject=FIRST_ADMINISTRATOR,
            name="Administrator",
            roles=[Role.ADMIN, Role.OPERATOR],
            aal="aal2",
            now=system_clock(),
            lifetime=_TOKEN_LIFETIME,
        )


async def open_instance(settings: Settings, supervisor: Supervisor, fork_server: ForkServer) -> OpenedInstance:
    """Returns when all parts serve; ``supervisor`` keeps them running. Raises HeadgateError."""
    data = settings.data
    authority = Authority(data.authority, data.public, settings.ca_file)
    authority.open(system_clock())
    issuer = open_local_issuer(data.issuer)
    servers = place_servers(settings)
    await open_servers(settings, servers, supervisor)
    kept = await seed_agent(servers.databases[Login.API], servers.secrets, system_clock)
    if kept != servers.secrets:
        store_secrets(data, kept)
    parts = [proxy_part(settings, servers, fork_server)] * settings.proxy_workers
    # The worker last: what it does when it starts can wait until the others are there.
    parts += [api_part(settings, servers, fork_server), worker_part(settings, servers, fork_server)]
    await together(*(supervisor.start(part) for part in parts))
    return OpenedInstance(settings, replace(servers, secrets=kept), authority, issuer)
