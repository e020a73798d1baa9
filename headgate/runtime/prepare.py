"""What an instance needs before its parts start: authority, schema, seeds, keys, the administrator's token.

Done by a process of its own that ends: what it loads and makes, of 20 to 45 MB, would stay in the supervisor for as
long as the instance runs. The fork server forks it (``headgate.cli.forked_parts``), and its standard output is the
answer (``headgate.runtime.prepared``).
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from headgate.configuration.logs import configure_logs
from headgate.configuration.settings import Part, Settings, read_settings
from headgate.db.migrate import migrate
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import HeadgateError
from headgate.kernel.secrets import Secret
from headgate.organizations.dashboard_address import dashboard_address
from headgate.organizations.local_issuer import LocalIssuer, open_local_issuer
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role
from headgate.organizations.sign_in_address import FIRST_ADMINISTRATOR, sign_in_address
from headgate.runtime.database_roles import prepare_database
from headgate.runtime.prepared import Prepared, failed, token_to_json
from headgate.runtime.secrets_file import store_secrets
from headgate.runtime.seed import seed_agent, seed_organization, somebody_signed_in
from headgate.runtime.servers import Servers, brings_database, place_servers, postgres_of
from headgate.vault.service import Vault, keys_file_of
from proxy.authority import Authority

_ROLES: Final = (Role.ADMIN, Role.OPERATOR)
_TOKEN_LIFETIME: Final = timedelta(days=1)
_FIRST_SIGN_IN_LIFETIME: Final = timedelta(hours=1)


def prepare() -> None:
    """The task ``prepare``. The servers run, the parts do not yet."""
    _answer(lambda settings: asyncio.run(prepare_instance(settings)).to_json())


def renew_token() -> None:
    """The task ``token``: another one for the administrator."""
    _answer(lambda settings: token_to_json(_administrator_token(open_local_issuer(settings.data.issuer))))


def _answer(do: Callable[[Settings], bytes]) -> None:
    try:
        settings = read_settings()
        configure_logs(settings)
        answer = do(settings)
    except HeadgateError as error:
        answer = failed(error.message)
    with open(1, "wb", closefd=False) as output:  # ``sys.stdout`` is None if the supervisor's was closed
        output.write(answer)


async def prepare_instance(settings: Settings) -> Prepared:
    """Makes what is missing, and keeps what is there. Raises HeadgateError."""
    data = settings.data
    authority = Authority(data.authority, data.public, settings.ca_file)
    authority.open(system_clock())
    issuer = open_local_issuer(data.issuer)
    servers = place_servers(settings)
    await _prepare_database(settings, servers)
    kept = await seed_agent(servers.databases[Part.API], servers.secrets, system_clock)
    if kept != servers.secrets:
        store_secrets(data, kept)
    has_signed_in = await somebody_signed_in(servers.databases[Part.API])
    return Prepared(
        ca_cert=str(authority.certificate_file),
        dashboard=dashboard_address(issuer, settings.api_url),
        admin_token=_administrator_token(issuer),
        first_sign_in=None if has_signed_in else _first_sign_in(issuer, settings.api_url),
    )


async def _prepare_database(settings: Settings, servers: Servers) -> None:
    if brings_database(settings):
        await prepare_database(postgres_of(settings), servers.secrets)
    else:
        await migrate(servers.administrator.reveal())
    await seed_organization(servers.databases[Part.OWNER], system_clock, Vault(keys_file_of(settings)))


def _administrator_token(issuer: LocalIssuer) -> Secret:
    """All rights, second factor, for a day."""
    return issuer.mint(
        org_id=DEFAULT_ORGANIZATION_ID,
        subject=FIRST_ADMINISTRATOR,
        name="Administrator",
        roles=_ROLES,
        aal="aal2",
        now=system_clock(),
        lifetime=_TOKEN_LIFETIME,
    )


def _first_sign_in(issuer: LocalIssuer, api_url: str) -> Secret:
    return sign_in_address(
        issuer,
        api_url,
        org_id=DEFAULT_ORGANIZATION_ID,
        user=FIRST_ADMINISTRATOR,
        roles=list(_ROLES),
        now=system_clock(),
        lifetime=_FIRST_SIGN_IN_LIFETIME,
    )
