"""How this process reaches key management services: the variables that their own tools read, and settings of Headgate.

``VAULT_ADDR``, ``VAULT_TOKEN``, ``VAULT_NAMESPACE`` and ``VAULT_CACERT`` are those of the Vault CLI (its documentation,
"Commands", environment variables); ``TRANSIT_SECRET_ENGINE_PATH`` is cosign's. ``AWS_ENDPOINT_URL_KMS`` and
``AWS_CA_BUNDLE`` are those of all AWS SDKs; credentials and region of AWS: ``aws_signature``.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from headgate.configuration.settings import Settings
from headgate.kernel.secrets import Secret
from headgate.outgoing.upstream_proxy import UpstreamProxy, upstream_proxy_of

DEFAULT_MOUNT = "transit"


class KmsAccess(Struct, frozen=True, kw_only=True):
    """``vault_token_file`` wins over ``vault_token``, and is read for each request. ``region``: of keys whose address
    names none. ``transit_mount``: the path of the transit engine, without slashes at its ends. ``upstream_ca_file`` and
    ``upstream_proxy`` apply to all services."""

    vault_address: str | None = None
    vault_token: Secret | None = None
    vault_token_file: Path | None = None
    vault_namespace: str | None = None
    vault_ca_file: Path | None = None
    transit_mount: str = DEFAULT_MOUNT
    region: str | None = None
    aws_endpoint: str | None = None
    aws_ca_file: Path | None = None
    upstream_ca_file: Path | None = None
    upstream_proxy: UpstreamProxy | None = None


def kms_access(settings: Settings, environment: Mapping[str, str] = os.environ) -> KmsAccess:
    """Reads the environment and the settings. Raises ValidationError: the upstream proxy is malformed."""

    def path(name: str) -> Path | None:
        return Path(given) if (given := environment.get(name)) else None

    return KmsAccess(
        vault_address=environment.get("VAULT_ADDR") or None,
        vault_token=Secret(token) if (token := environment.get("VAULT_TOKEN")) else None,
        vault_token_file=settings.vault_token_file,
        vault_namespace=environment.get("VAULT_NAMESPACE") or None,
        vault_ca_file=path("VAULT_CACERT"),
        transit_mount=(environment.get("TRANSIT_SECRET_ENGINE_PATH") or DEFAULT_MOUNT).strip("/"),
        region=environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or None,
        aws_endpoint=environment.get("AWS_ENDPOINT_URL_KMS") or environment.get("AWS_ENDPOINT_URL") or None,
        aws_ca_file=path("AWS_CA_BUNDLE"),
        upstream_ca_file=settings.upstream_ca_file,
        upstream_proxy=upstream_proxy_of(
            settings.upstream_proxy_url, settings.upstream_proxy_direct, settings.upstream_proxy_resolution
        ),
    )
