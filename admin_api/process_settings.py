"""What an API process needs to know; made by the composition root from the process' configuration."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from msgspec import Struct, field

from admin_api.body_budget import BODIES_BYTES_MAX
from admin_api.body_limit import BODY_LIMIT_BYTES
from admin_api.claims import ClaimNames
from admin_api.client_places import CONNECTIONS_MAX, CONNECTIONS_OF_ADDRESS_MAX
from admin_api.feeds.viewers import VIEWERS_OF_PERSON_MAX
from admin_api.forwarded import TrustedProxies
from headgate.actions.delegation import DEFAULT_DEPTH
from headgate.approvals.mapped_voter import DEFAULT_TRUST
from headgate.configuration.data_directory import DataDirectory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.executions.model import DEFAULT_CONCURRENCY_MAX
from headgate.kernel.secrets import Secret
from headgate.mfa.providers.settings import ProviderSettings
from headgate.monitor.settings import MonitorSettings
from headgate.outgoing.upstream_proxy import UpstreamProxy
from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota
from headgate.sessions.model import SessionLimits
from headgate.vault.unwrapper import Unwrapper


class LoginClient(Struct, frozen=True):
    """What Headgate is to a provider at which people sign in with a browser. ``client_secret`` None: a public client,
    which PKCE alone protects. ``name``: what people call the provider. ``redirect_name``: it sends browsers back to an
    address of its own (/auth/providers/<redirect_name>/callback), which no other provider knows. ``end_session``: who
    signs out here signs out there, too, where the provider offers it."""

    client_id: str
    client_secret: Secret | None = None
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    name: str | None = None
    redirect_name: str | None = None
    end_session: bool = True


class OidcSettings(Struct, frozen=True):
    """An OpenID Connect issuer whose tokens are believed. ``jwks_url`` None: found by discovery.

    ``default_organization`` is that of tokens which name none; ``organizations`` bounds what they may name.
    ``authorized_parties``: who may present its tokens, where not everybody may. ``login`` None: no browser login.
    """

    issuer: str
    audience: str
    jwks_url: str | None = None
    claims: ClaimNames = field(default_factory=ClaimNames)
    default_organization: str | None = None
    organizations: frozenset[str] | None = None
    authorized_parties: frozenset[str] = frozenset()
    login: LoginClient | None = None
    names_operators: bool = False


class ApiSettings(Struct, frozen=True):
    """``database_dsn`` logs in as headgate_api. Without ``valkey_url`` rate limits are counted per process.

    ``data_dir`` holds the key that signs local tokens, and the mark of the policy that is being evaluated; with
    ``local_tokens`` False only the tokens of ``oidc`` are believed. ``ca_certificate`` is the proxy's, for
    download. ``reuse_port``: several processes share the port (SO_REUSEPORT), and a port that is taken by another
    such process is not noticed. ``master_keys_file`` and ``signing_keys`` None: those in ``data_dir``.
    ``unwrapper``: of wrapped master keys.
    ``upstream_ca_file``: more roots for the calls that the API makes itself. ``mfa_provider``: keeps the second factors
    of the people of its issuer. ``public_url``: the API's origin as people reach it; None: without browser login.
    ``passkeys`` False: nobody signs in or joins with one. ``classifiers_dir``: local classifiers of content policies.
    """

    database_dsn: Secret
    valkey_url: Secret | None
    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8080
    rate_limits: bool = True
    quotas: Mapping[RateClass, Quota] = DEFAULT_QUOTAS
    local_tokens: bool = True
    passkeys: bool = True
    oidc: tuple[OidcSettings, ...] = ()
    public_url: str | None = None
    proxy_url: str = "http://127.0.0.1:8471"
    command_name: str = "headgate"
    ca_certificate: Path | None = None
    approval_expires_seconds: int = 86_400
    grant_max_seconds: int = 30 * 86_400
    key_lifetime_days: int | None = None
    delegation_depth: int = DEFAULT_DEPTH
    execution_concurrency_max: int = DEFAULT_CONCURRENCY_MAX
    body_limit_bytes: int = BODY_LIMIT_BYTES
    event_streams_of_person: int = VIEWERS_OF_PERSON_MAX
    connections_max: int = CONNECTIONS_MAX
    connections_of_address: int = CONNECTIONS_OF_ADDRESS_MAX
    bodies_bytes_max: int = BODIES_BYTES_MAX
    reuse_port: bool = False
    master_keys_file: Path | None = None
    unwrapper: Unwrapper | None = None
    upstream_ca_file: Path | None = None
    upstream_proxy: UpstreamProxy | None = None
    monitor: MonitorSettings = field(default_factory=MonitorSettings)
    classifiers_dir: Path | None = None
    signing_keys: SigningKeySource | None = None
    checkpoint_seconds: int = 5
    mfa_provider: ProviderSettings | None = None
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    sign_in_trust: timedelta = DEFAULT_TRUST
    trusted_proxies: TrustedProxies = field(default_factory=TrustedProxies)

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(self.data_dir)

    @property
    def evidence_keys(self) -> SigningKeySource:
        return self.signing_keys or SigningKeySource(self.data.signing_keys)
