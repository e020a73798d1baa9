"""People's tokens: JWTs (RFC 7519) of issuers that are trusted by name, checked as RFC 8725 says.

Where a token says how to verify itself (``jku``, ``jwk``, ``x5u``, ``x5c``) it is not listened to: keys come from
the configured issuer alone. ``crit`` is refused, as no extension is understood. JSON with a duplicate member is
refused: two parsers would see two tokens.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from jwt import PyJWS
from jwt.exceptions import PyJWTError

from admin_api.jwks import ALGORITHMS, KeySource, require_key
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnauthorizedError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role, TokenIdentity

_LIMIT_CHARACTERS: Final = 16 * 1024
_LEEWAY_SECONDS: Final = 30
_ROLES: Final = {role.value: role for role in Role}
_JWS: Final = PyJWS(algorithms=sorted(ALGORITHMS))


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Which claims say what; a dot descends (``realm_access.roles``)."""

    organization: str = "org_id"
    roles: str = "roles"
    aal: str = "aal"


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """An issuer whose tokens are believed. ``default_organization``: of a token that names none.

    ``organizations``: those that its tokens may name; None for all, where the issuer is the operator's own.
    """

    issuer: str
    audience: str
    keys: KeySource
    claims: ClaimNames = field(default_factory=ClaimNames)
    default_organization: str | None = None
    organizations: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """What a token says, now that it is known to be its issuer's."""

    identity: TokenIdentity
    aal: str | None
    expires_at: float


class TokenVerifier:
    def __init__(self, issuers: Sequence[TrustedIssuer], *, clock: Clock) -> None:
        self._issuers = {issuer.issuer: issuer for issuer in issuers}
        self._clock = clock

    async def verify(self, token: Secret) -> VerifiedToken:
        """Raises UnauthorizedError; UnavailableError where the issuer's keys are out of reach."""
        text = token.reveal()
        header, claims = _read(text)
        algorithm, key_id = _header(header)
        issuer = self._issuers.get(_text(claims, "iss") or "")
        if issuer is None:
            raise UnauthorizedError("the token's issuer is not trusted here")
        key = require_key(await issuer.keys.find(key_id), algorithm)
        try:
            _JWS.decode(text, key.key, algorithms=[algorithm])
        except (PyJWTError, ValueError) as error:
            raise UnauthorizedError("the token's signature is not its issuer's") from error
        return check_claims(claims, issuer, self._clock())


def check_claims(claims: JsonObject, issuer: TrustedIssuer, now: datetime) -> VerifiedToken:
    """What an authentic token says, if it is for us and for now. Raises UnauthorizedError."""
    instant = now.timestamp()
    expires_at = _instant(claims, "exp")
    if expires_at is None:
        raise UnauthorizedError("the token has no expiry (exp)")
    if expires_at <= instant - _LEEWAY_SECONDS:
        raise UnauthorizedError("the token has expired")
    for claim in ("nbf", "iat"):
        begins_at = _instant(claims, claim)
        if begins_at is not None and begins_at > instant + _LEEWAY_SECONDS:
            raise UnauthorizedError(f"the token is not valid yet ({claim})")
    audience = claims.get("aud")
    if issuer.audience not in (audience if isinstance(audience, list) else [audience]):
        raise UnauthorizedError("the token is for another audience (aud)")
    subject = _text(claims, "sub")
    if not subject:
        raise UnauthorizedError("the token names nobody (sub)")
    org_id = _text(claims, issuer.claims.organization) or issuer.default_organization
    if org_id is None:
        raise UnauthorizedError(f"the token names no organization ({issuer.claims.organization})")
    if issuer.organizations is not None and org_id not in issuer.organizations:
        raise UnauthorizedError("the token names an organization that is not its issuer's")
    identity = TokenIdentity(
        org_id=org_id,
        issuer=issuer.issuer,
        subject=subject,
        # An address that the issuer has not verified is whatever its owner typed: it must not match an assignee.
        email=_text(claims, "email") if claims.get("email_verified") is True else None,
        name=_text(claims, "name"),
        roles=_roles(_descend(claims, issuer.claims.roles)),
    )
    return VerifiedToken(identity, _text(claims, issuer.claims.aal), expires_at)


def _read(text: str) -> tuple[JsonObject, JsonObject]:
    parts = text.split(".")
    if len(text) > _LIMIT_CHARACTERS or len(parts) != 3:
        raise UnauthorizedError("this is neither an API key nor a signed token")
    return _object(parts[0]), _object(parts[1])


def _object(part: str) -> JsonObject:
    try:
        # Strict: altchars are translated first, so that whatever else is not of the alphabet is refused.
        decoded = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        value = parse_strict(decoded)
    except (binascii.Error, ValueError, ValidationError) as error:
        raise UnauthorizedError("the token is malformed") from error
    if not isinstance(value, dict):
        raise UnauthorizedError("the token is malformed")
    return value


def _header(header: JsonObject) -> tuple[str, str]:
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise UnauthorizedError(f"the token's algorithm is not one of {', '.join(sorted(ALGORITHMS))}")
    if "crit" in header:
        raise UnauthorizedError("the token demands an extension (crit) that is not understood")
    if not isinstance(key_id, str) or not key_id:
        raise UnauthorizedError("the token does not name its key (kid)")
    return algorithm, key_id


def _instant(claims: JsonObject, name: str) -> float | None:
    """NumericDate (RFC 7519, section 2)."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnauthorizedError(f"the token's {name} is not a time")
    return float(value)


def _text(claims: JsonObject, name: str) -> str | None:
    value = _descend(claims, name)
    return value if isinstance(value, str) and "\0" not in value else None


def _descend(claims: JsonObject, name: str) -> JsonValue:
    """A claim by its name, or else by a path of names."""
    if name in claims:
        return claims[name]
    value: JsonValue = claims
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _roles(value: JsonValue) -> frozenset[Role]:
    """Those of the names that are roles here; an issuer's other roles mean nothing to us."""
    names = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(_ROLES[name] for name in names if isinstance(name, str) and name in _ROLES)
