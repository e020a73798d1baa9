"""What an API process needs to know; made by the composition root from the process' configuration."""

from dataclasses import dataclass, field
from pathlib import Path

from admin_api.body_limit import BODY_LIMIT_BYTES
from admin_api.tokens import ClaimNames
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.secrets import Secret


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """An OpenID Connect issuer whose tokens are believed. ``jwks_url`` None: found by discovery.

    ``default_organization`` is that of tokens which name none; ``organizations`` bounds what they may name.
    """

    issuer: str
    audience: str
    jwks_url: str | None = None
    claims: ClaimNames = field(default_factory=ClaimNames)
    default_organization: str | None = None
    organizations: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """``database_dsn`` logs in as headgate_api. Without ``valkey_url`` rate limits are counted per process.

    ``data_dir`` holds the key that signs local tokens, and the mark of the policy that is being evaluated; with
    ``local_tokens`` False only the tokens of ``oidc`` are believed. ``ca_certificate`` is the proxy's, for
    download. ``reuse_port``: several processes share the port (SO_REUSEPORT), and a port that is taken by another
    such process is not noticed. ``master_keys_file`` None: the one in ``data_dir``.
    """

    database_dsn: Secret
    valkey_url: Secret | None
    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8080
    rate_limits: bool = True
    local_tokens: bool = True
    oidc: OidcSettings | None = None
    ca_certificate: Path | None = None
    approval_expires_seconds: int = 86_400
    body_limit_bytes: int = BODY_LIMIT_BYTES
    reuse_port: bool = False
    master_keys_file: Path | None = None

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(self.data_dir)
