"""Who people are: the issuers whose tokens are believed, and the ways to sign in with a browser."""

import httpx
from msgspec import Struct

from admin_api.jwks import FixedKeys, RemoteKeys, VerificationKey, algorithms_of
from admin_api.process_settings import ApiSettings, OidcSettings
from admin_api.provider_metadata import DiscoveredMetadata, Documents
from admin_api.services.browser_login import BrowserLogin, LoginProvider
from admin_api.services.cookies import cookies_of
from admin_api.services.local_tickets import LocalTickets
from admin_api.tokens import TokenVerifier, TrustedIssuer
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.organizations.dashboard_address import dashboard_address
from headgate.organizations.local_issuer import (
    AUDIENCE,
    LOCAL_ISSUER,
    TICKET_AUDIENCE,
    LocalIssuer,
    open_local_issuer,
)
from headgate.passkeys.model import relying_party_of
from headgate.passkeys.service import Passkeys


class People(Struct, frozen=True):
    """``local_issuer`` None: its tokens are not believed here. ``passkeys`` None: providers sign people
    in, passkeys are switched off, or browsers take none at this address."""

    tokens: TokenVerifier
    local_issuer: LocalIssuer | None
    browser_login: BrowserLogin | None
    local_tickets: LocalTickets
    passkeys: Passkeys | None


def open_people(settings: ApiSettings, client: httpx.AsyncClient, database: Database, clock: Clock) -> People:
    """Raises UnavailableError where the local issuer's key cannot be read or made."""
    documents = Documents(client)
    issuers: list[TrustedIssuer] = []
    ticket_issuers: list[TrustedIssuer] = []
    providers: dict[str, LoginProvider] = {}
    local = open_local_issuer(settings.data.issuer) if settings.local_tokens else None
    if local is not None:
        issuers.append(local_issuer_trust(local))
        ticket_issuers.append(local_issuer_trust(local, TICKET_AUDIENCE))
    for one in settings.oidc:
        metadata = DiscoveredMetadata(one.issuer, documents)
        issuers.append(_oidc_trust(one, metadata, documents))
        if one.login is not None:
            providers[one.issuer] = LoginProvider(one.issuer, one.login, metadata)
    tokens = TokenVerifier(issuers, clock=clock)
    browser_login = None
    if settings.public_url is not None and cookies_of(settings.public_url) is not None:
        browser_login = BrowserLogin(
            providers,
            tokens=tokens,
            documents=documents,
            database=database,
            clock=clock,
            public_url=settings.public_url,
        )
    passkeys = None
    if settings.passkeys and local is not None and not providers and settings.public_url is not None:
        party = relying_party_of(dashboard_address(local, settings.public_url))
        passkeys = None if party is None else Passkeys(database, clock, party)
    tickets = LocalTickets(TokenVerifier(ticket_issuers, clock=clock), database, clock)
    return People(tokens, local, browser_login, tickets, passkeys)


def local_issuer_trust(issuer: LocalIssuer, audience: str = AUDIENCE) -> TrustedIssuer:
    """Believe the tokens that this key signs."""
    key = VerificationKey(issuer.public_key, algorithms_of(issuer.public_key))
    return TrustedIssuer(LOCAL_ISSUER, audience, FixedKeys({issuer.key_id: key}), names_operators=True)


def _oidc_trust(oidc: OidcSettings, metadata: DiscoveredMetadata, documents: Documents) -> TrustedIssuer:
    return TrustedIssuer(
        issuer=oidc.issuer,
        audience=oidc.audience,
        keys=RemoteKeys(oidc.issuer, metadata=metadata, documents=documents, jwks_url=oidc.jwks_url),
        claims=oidc.claims,
        default_organization=oidc.default_organization,
        organizations=oidc.organizations,
        authorized_parties=oidc.authorized_parties,
        names_operators=oidc.names_operators,
    )
