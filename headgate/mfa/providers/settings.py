"""Which provider keeps the second factors of an issuer's people, and how it is reached."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import httpx
from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.mfa.providers.auth0 import Auth0Factors
from headgate.mfa.providers.keycloak import KeycloakFactors
from headgate.mfa.providers.model import FactorProvider
from headgate.mfa.providers.supabase import SupabaseFactors

_SUPABASE_ISSUER: Final = "/auth/v1"


class ProviderKind(StrEnum):
    SUPABASE = "supabase"
    KEYCLOAK = "keycloak"
    AUTH0 = "auth0"


class ProviderSettings(Struct, frozen=True):
    """``issuer``: whose people these are; ``client_id`` is None for Supabase, which has none."""

    kind: ProviderKind
    issuer: str
    url: str
    client_id: str | None
    secret: Secret


def provider_settings(
    kind: str | None, *, issuer: str | None, url: str | None, client_id: str | None, secret: Secret | None
) -> ProviderSettings | None:
    """None where no provider is set. Raises ValidationError, which names the variable that is missing."""
    if kind is None:
        return None
    provider = ProviderKind(kind)
    if issuer is None:
        raise _missing("HEADGATE_JWT_ISSUER", kind)
    if secret is None:
        raise _missing("HEADGATE_MFA_PROVIDER_SECRET", kind)
    if provider is ProviderKind.SUPABASE:
        return ProviderSettings(provider, issuer, url or issuer.removesuffix(_SUPABASE_ISSUER), None, secret)
    if client_id is None:
        raise _missing("HEADGATE_MFA_PROVIDER_CLIENT_ID", kind)
    if provider is ProviderKind.KEYCLOAK and "/realms/" not in issuer:
        raise ValidationError("HEADGATE_JWT_ISSUER is not Keycloak's: https://host/realms/NAME is needed")
    return ProviderSettings(provider, issuer, url or issuer.rstrip("/"), client_id, secret)


def open_provider(settings: ProviderSettings, client: httpx.AsyncClient) -> FactorProvider:
    """``client`` is the caller's, to close."""
    client_id, secret = settings.client_id or "", settings.secret
    made: dict[ProviderKind, Callable[[], FactorProvider]] = {
        ProviderKind.SUPABASE: lambda: SupabaseFactors(client, settings.url, secret),
        ProviderKind.KEYCLOAK: lambda: KeycloakFactors(client, settings.issuer, client_id, secret),
        ProviderKind.AUTH0: lambda: Auth0Factors(client, settings.url, client_id, secret),
    }
    return made[settings.kind]()


def _missing(variable: str, kind: str) -> ValidationError:
    return ValidationError(
        f"HEADGATE_MFA_PROVIDER is {kind}, which needs {variable}", details={"variable": variable, "reason": "not set"}
    )
