"""What the routes of second factors work with."""

from contextlib import AsyncExitStack

import httpx
from msgspec import Struct

from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.mfa.hashing import Hasher
from headgate.mfa.local_factor import LocalTotp
from headgate.mfa.providers.local import LocalFactors
from headgate.mfa.providers.model import FactorProvider
from headgate.mfa.providers.settings import ProviderSettings, open_provider
from headgate.mfa.recovery import RecoveryCodes
from headgate.organizations.local_issuer import LOCAL_ISSUER
from headgate.vault.service import Vault


class FactorWork(Struct, frozen=True):
    recovery_codes: RecoveryCodes
    local_totp: LocalTotp


def factor_work(
    database: Database,
    vault: Vault,
    clock: Clock,
    provider: ProviderSettings | None,
    client: httpx.AsyncClient,
    stack: AsyncExitStack,
) -> FactorWork:
    """``provider`` None: factors of the local issuer only. ``stack`` closes what they stand on."""
    hasher = Hasher()
    stack.callback(hasher.close)
    providers: dict[str, FactorProvider] = {LOCAL_ISSUER: LocalFactors(database, vault)}
    if provider is not None:
        providers[provider.issuer] = open_provider(provider, client)
    return FactorWork(RecoveryCodes(database, hasher, providers, clock), LocalTotp(database, vault, clock))
