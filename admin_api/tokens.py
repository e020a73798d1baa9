"""People's tokens: JWTs (RFC 7519) of issuers that are trusted by name, checked as RFC 8725 says.

Where a token says how to verify itself (``jku``, ``jwk``, ``x5u``, ``x5c``) it is not listened to: keys come from
the configured issuer alone. ``crit`` is refused, as no extension is understood. JSON with a duplicate member is
refused: two parsers would see two tokens. So is base64 in any form but its canonical one (RFC 4648, section 3.5).
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from jwt import PyJWS
from jwt.exceptions import PyJWTError
from msgspec import Struct, field
from msgspec.structs import replace

from admin_api.claims import ClaimNames, aal_of, instant_of, require_audience, roles_of, text_of
from admin_api.jwks import ALGORITHMS, KeySource, require_key
from admin_api.logout_token import EndedAtProvider, ended_at_provider
from headgate.kernel.canonical_json import JsonObject, parse_strict
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ExpiredError, UnauthorizedError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.local_issuer import LOCAL_ISSUER, STATED_AT_CLAIM
from headgate.organizations.model import Role, TokenIdentity

_LIMIT_CHARACTERS: Final = 16 * 1024
_LEEWAY_SECONDS: Final = 30
_MOST_SID_CHARACTERS: Final = 256
_JWS: Final = PyJWS(algorithms=sorted(ALGORITHMS))


class TrustedIssuer(Struct, frozen=True):
    """An issuer whose tokens are believed. ``default_organization``: of a token that names none.

    ``organizations``: those that its tokens may name; None for all, where the issuer is the operator's own.
    ``authorized_parties``: the clients that may present its tokens (``azp``); empty: whoever has one for us alone.
    ``names_operators``: its word is enough for somebody to look after all organizations.
    """

    issuer: str
    audience: str
    keys: KeySource
    claims: ClaimNames = field(default_factory=ClaimNames)
    default_organization: str | None = None
    organizations: frozenset[str] | None = None
    authorized_parties: frozenset[str] = frozenset()
    names_operators: bool = False


class VerifiedToken(Struct, frozen=True):
    """What a token says, now that it is known to be its issuer's.

    ``issued_at``: when this token was made. ``stated_at``: when its issuer first said this of the person, which is
    earlier where the token was exchanged for another. Both in seconds since 1970; None: unknown.
    """

    identity: TokenIdentity
    aal: str | None
    expires_at: float
    issued_at: float | None = None
    stated_at: float | None = None


class VerifiedLogin(Struct, frozen=True):
    """An ID token that is known to be its issuer's answer, before it is known which organization it is for."""

    issuer: TrustedIssuer
    claims: JsonObject
    expires_at: float
    token: Secret

    @property
    def subject(self) -> str:
        return text_of(self.claims, "sub") or ""

    @property
    def provider_sid(self) -> str | None:
        """What the provider calls its own session (OpenID Connect Back-Channel Logout 1.0, section 2.1)."""
        sid = text_of(self.claims, "sid")
        return sid if sid and len(sid) <= _MOST_SID_CHARACTERS else None

    @property
    def organization(self) -> str | None:
        """The one that it names, or its issuer's default. Raises UnauthorizedError where that may not be."""
        return organization_of(self.claims, self.issuer)

    def in_organization(self, org_id: str) -> VerifiedToken:
        """The person as one of this organization. Its roles are those of the organization that it names: in another,
        a person has those that they were given there. Raises UnauthorizedError where its issuer does not speak for it.
        """
        token = _token(self.claims, self.issuer, org_id, self.expires_at)
        if self.organization == org_id:
            return token
        return replace(token, identity=replace(token.identity, roles=frozenset()))


class TokenVerifier:
    def __init__(self, issuers: Sequence[TrustedIssuer], *, clock: Clock) -> None:
        self._issuers = {issuer.issuer: issuer for issuer in issuers}
        self._clock = clock

    async def verify(self, token: Secret) -> VerifiedToken:
        """Raises UnauthorizedError; UnavailableError where the issuer's keys are out of reach."""
        claims, issuer = await self._authentic(token.reveal())
        if "events" in claims:
            raise UnauthorizedError("This is a security event token (RFC 8417), not a credential.")
        return check_claims(claims, issuer, self._clock())

    async def verify_login(self, token: Secret, *, issuer: str, client_id: str, nonce: str) -> VerifiedLogin:
        """An ID token that this issuer answered with to the login that sent this nonce (OpenID Connect Core 1.0,
        section 3.1.3.7). Raises as ``verify`` does."""
        claims, trusted = await self._authentic(token.reveal())
        if trusted.issuer != issuer:
            raise UnauthorizedError("the ID token was issued by another issuer")
        if claims.get("nonce") != nonce:
            raise UnauthorizedError("the ID token belongs to another login (nonce)")
        if claims.get("azp", client_id) != client_id:
            raise UnauthorizedError("the ID token was issued to another client (azp)")
        as_client = replace(trusted, audience=client_id, authorized_parties=frozenset())
        return VerifiedLogin(as_client, claims, check_validity(claims, as_client, self._clock()), token)

    async def verify_logout(self, token: Secret, clients: Mapping[str, str]) -> EndedAtProvider:
        """A provider's word that a session there is over. ``clients``: what Headgate is to each issuer at which people
        sign in. Raises as ``verify`` does."""
        claims, trusted = await self._authentic(token.reveal())
        if (client_id := clients.get(trusted.issuer)) is None:
            raise UnauthorizedError("This issuer is not configured for sign-in.")
        now = self._clock()
        check_time(claims, now)
        require_audience(claims, client_id, frozenset())
        return ended_at_provider(claims, trusted.issuer, now)

    def roles_now(self, org_id: str, issuer: str, roles: frozenset[Role]) -> frozenset[Role]:
        """What is left of roles that a token of this issuer once gave, by what it is trusted with now.

        Raises UnauthorizedError: it is not trusted any more, or not with this organization.
        """
        trusted = self._issuers.get(issuer)
        if trusted is None:
            raise UnauthorizedError("The identity provider of this account is no longer trusted here. Sign in again.")
        _require_spoken_for(org_id, trusted)
        return roles if trusted.names_operators else roles - {Role.OPERATOR}

    async def _authentic(self, text: str) -> tuple[JsonObject, TrustedIssuer]:
        header, claims = _read(text)
        algorithm, key_id = _header(header)
        issuer = self._issuers.get(text_of(claims, "iss") or "")
        if issuer is None:
            raise UnauthorizedError("the token's issuer is not trusted here")
        key = require_key(await issuer.keys.find(key_id), algorithm)
        try:
            _JWS.decode(text, key.key, algorithms=[algorithm])
        except (PyJWTError, ValueError) as error:
            raise UnauthorizedError("the token's signature does not match its issuer's keys") from error
        return claims, issuer


def check_claims(claims: JsonObject, issuer: TrustedIssuer, now: datetime) -> VerifiedToken:
    """What an authentic token says, if it is for us and for now. Raises UnauthorizedError."""
    expires_at = check_validity(claims, issuer, now)
    org_id = organization_of(claims, issuer)
    if org_id is None:
        raise UnauthorizedError(f"the token names no organization ({issuer.claims.organization})")
    return _token(claims, issuer, org_id, expires_at)


def check_validity(claims: JsonObject, issuer: TrustedIssuer, now: datetime) -> float:
    """When it expires, if it is for us, for now, and about somebody. Raises UnauthorizedError."""
    expires_at = check_time(claims, now)
    require_audience(claims, issuer.audience, issuer.authorized_parties)
    if not text_of(claims, "sub"):
        raise UnauthorizedError("the token names no subject (sub)")
    return expires_at


def check_time(claims: JsonObject, now: datetime) -> float:
    """When it expires, if it is for now. Raises UnauthorizedError."""
    instant = now.timestamp()
    expires_at = instant_of(claims, "exp")
    if expires_at is None:
        raise UnauthorizedError("the token has no expiry (exp)")
    if expires_at <= instant - _LEEWAY_SECONDS:
        raise ExpiredError("the token has expired")
    for claim in ("nbf", "iat"):
        begins_at = instant_of(claims, claim)
        if begins_at is not None and begins_at > instant + _LEEWAY_SECONDS:
            raise UnauthorizedError(f"the token is not valid yet ({claim})")
    return expires_at


def organization_of(claims: JsonObject, issuer: TrustedIssuer) -> str | None:
    """None: the token names none, and its issuer has no default. Raises UnauthorizedError."""
    org_id = text_of(claims, issuer.claims.organization) or issuer.default_organization
    if org_id is not None:
        _require_spoken_for(org_id, issuer)
    return org_id


def _require_spoken_for(org_id: str, issuer: TrustedIssuer) -> None:
    if issuer.organizations is not None and org_id not in issuer.organizations:
        raise UnauthorizedError("the token names an organization that does not belong to its issuer")


def _token(claims: JsonObject, issuer: TrustedIssuer, org_id: str, expires_at: float) -> VerifiedToken:
    _require_spoken_for(org_id, issuer)
    identity = TokenIdentity(
        org_id=org_id,
        issuer=issuer.issuer,
        subject=text_of(claims, "sub") or "",
        # An address that the issuer has not verified is whatever its owner typed: it must not match an assignee.
        email=text_of(claims, "email") if claims.get("email_verified") is True else None,
        name=text_of(claims, "name"),
        roles=roles_of(claims, issuer.claims) - (frozenset() if issuer.names_operators else {Role.OPERATOR}),
    )
    return VerifiedToken(
        identity,
        aal_of(claims, issuer.claims),
        expires_at,
        issued_at=instant_of(claims, "iat"),
        stated_at=stated_at(claims, issuer.issuer),
    )


def stated_at(claims: JsonObject, issuer: str) -> float | None:
    """When the issuer first said what this token says of the person, in seconds since 1970; None: it does not say.

    Another issuer's claim of the same name is its own matter.
    """
    return instant_of(claims, STATED_AT_CLAIM if issuer == LOCAL_ISSUER and STATED_AT_CLAIM in claims else "iat")


def _read(text: str) -> tuple[JsonObject, JsonObject]:
    parts = text.split(".")
    if len(text) > _LIMIT_CHARACTERS or len(parts) != 3:
        raise UnauthorizedError("Invalid credential: expected an API key or a JWT.")
    _decoded(parts[2])  # the library reads a signature in forms that are not canonical, too
    return _object(parts[0]), _object(parts[1])


def _object(part: str) -> JsonObject:
    try:
        value = parse_strict(_decoded(part))
    except ValidationError as error:
        raise UnauthorizedError("the token is malformed") from error
    if not isinstance(value, dict):
        raise UnauthorizedError("the token is malformed")
    return value


def _decoded(part: str) -> bytes:
    """One byte string has one text: whatever was decoded is encoded again, and must be what came."""
    try:
        decoded = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError) as error:
        raise UnauthorizedError("the token is malformed") from error
    if base64.urlsafe_b64encode(decoded).decode().rstrip("=") != part:
        raise UnauthorizedError("the token is malformed")
    return decoded


def _header(header: JsonObject) -> tuple[str, str]:
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise UnauthorizedError(f"the token's algorithm is not one of {', '.join(sorted(ALGORITHMS))}")
    if "crit" in header:
        raise UnauthorizedError("the token requires an unsupported extension (crit)")
    if not isinstance(key_id, str) or not key_id:
        raise UnauthorizedError("the token does not name its key (kid)")
    return algorithm, key_id
