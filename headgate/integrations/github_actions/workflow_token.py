"""Verifies the token that GitHub gives a running workflow (OpenID Connect), following RFC 8725.

https://docs.github.com/en/actions/concepts/security/openid-connect and …/reference/security/oidc (claims). Keys come
only from the configured issuer, found by OpenID Connect Discovery 1.0, section 4; key hints inside a token are ignored.
Only RS256 is accepted, the one algorithm that the issuer publishes.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.exceptions import PyJWTError
from msgspec import Struct, field

from headgate.integrations.platform_api import PlatformApi, PlatformError, list_at, text_at
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnauthorizedError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient

_LIMIT_CHARACTERS: Final = 16 * 1024
_LEEWAY_SECONDS: Final = 30
_LONGEST_LIFE_SECONDS: Final = 3600
_FRESH_SECONDS: Final = 600.0
_REFETCH_FLOOR_SECONDS: Final = 30.0
_WITHOUT_KEYS_SECONDS: Final = 1.0
_MIN_RSA_BITS: Final = 2048  # RFC 7518, section 3.3
_NEEDED: Final = ("exp", "iat", "iss", "aud", "sub", "jti")


type _Asked = tuple[str, str]
"""An organization and its issuer."""


class _Keys(Struct):
    by_id: dict[str, RSAPublicKey]
    fetched_at: float


class WorkflowTokens(Struct):
    """The key caches of one process: ten minutes, and at most two fetches a minute for unknown key ids. Each
    organization has its own, because its rules decide whether the issuer is reached: another's failing fetch must not
    refuse its workflows."""

    client: OutgoingClient
    clock: Clock
    monotonic: Callable[[], float] = time.monotonic
    _keys: dict[_Asked, _Keys] = field(default_factory=dict)
    _tried_at: dict[_Asked, float] = field(default_factory=dict)
    _fetching: dict[_Asked, asyncio.Lock] = field(default_factory=dict)

    async def verify(
        self, token: Secret, *, org_id: str, issuer: str, audience: str, rules: DestinationRules
    ) -> JsonObject:
        """Returns the claims. Raises UnauthorizedError; UnavailableError if the issuer's keys are unreachable."""
        text = token.reveal()
        if len(text) > _LIMIT_CHARACTERS or not text.isascii():
            raise UnauthorizedError("not a GitHub Actions token")
        try:
            header = jwt.get_unverified_header(text)
        except PyJWTError as error:
            raise UnauthorizedError("not a GitHub Actions token") from error
        key_id = header.get("kid")
        if header.get("alg") != "RS256" or "crit" in header or not isinstance(key_id, str):
            raise UnauthorizedError("a workflow's token is signed with RS256, and names its key")
        asked = (org_id, issuer)
        async with self._fetching.setdefault(asked, asyncio.Lock()):
            key = await self._key(asked, key_id, rules)
        if key is None:
            raise UnauthorizedError("the token is signed with a key that its issuer does not publish")
        return _checked(text, key, issuer, audience, self.clock().timestamp())

    async def _key(self, asked: _Asked, key_id: str, rules: DestinationRules) -> RSAPublicKey | None:
        now, known = self.monotonic(), self._keys.get(asked)
        is_fresh = known is not None and now - known.fetched_at < _FRESH_SECONDS
        if known is not None and is_fresh and key_id in known.by_id:
            return known.by_id[key_id]
        floor = _REFETCH_FLOOR_SECONDS if is_fresh else _WITHOUT_KEYS_SECONDS
        if now - self._tried_at.get(asked, float("-inf")) < floor:
            if not is_fresh:
                raise UnavailableError("the workflows' issuer is unreachable; try again", retry_after_seconds=1)
            return None
        self._tried_at[asked] = now
        try:
            known = _Keys(await self.fetch(asked[1], rules), now)
        except PlatformError as error:
            self._tried_at[asked] = self.monotonic()
            raise UnavailableError("the workflows' issuer is unreachable; try again", retry_after_seconds=1) from error
        self._keys[asked] = known
        return known.by_id.get(key_id)

    async def fetch(self, issuer: str, rules: DestinationRules) -> dict[str, RSAPublicKey]:
        """The keys that the issuer publishes now, by id. Raises PlatformError."""
        api = PlatformApi(self.client, issuer, (), rules, deadline_seconds=10.0)
        document = (await api.call("GET", "/.well-known/openid-configuration")).document
        jwks_url = text_at(document, "jwks_uri")
        if text_at(document, "issuer") != issuer or jwks_url is None or not jwks_url.startswith(issuer + "/"):
            raise PlatformError("discovery")
        found = (await api.call("GET", jwks_url.removeprefix(issuer))).document
        return {
            key_id: key
            for one in list_at(found, "keys")
            if isinstance(one, dict) and (key_id := text_at(one, "kid")) and (key := _rsa_key(one)) is not None
        }


def _rsa_key(entry: JsonObject) -> RSAPublicKey | None:
    if entry.get("kty") != "RSA" or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    try:
        key = jwt.PyJWK(entry, algorithm="RS256").key
    except (PyJWTError, ValueError, TypeError):
        return None
    return key if isinstance(key, RSAPublicKey) and key.key_size >= _MIN_RSA_BITS else None


def _checked(text: str, key: RSAPublicKey, issuer: str, audience: str, now: float) -> JsonObject:
    try:
        # Times are compared with our own clock below, because the library uses another.
        claims: dict[str, Any] = jwt.decode(
            text, key, algorithms=["RS256"], issuer=issuer, audience=audience,
            options={"require": list(_NEEDED), "verify_exp": False, "verify_nbf": False, "verify_iat": False},
        )  # fmt: skip
    except (PyJWTError, ValueError) as error:
        raise UnauthorizedError("the token is not one that this issuer made for us") from error
    times = {name: claims.get(name, claims["iat"]) for name in ("exp", "iat", "nbf")}
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in times.values()):
        raise UnauthorizedError("the token's times are not numbers")
    if times["exp"] <= now - _LEEWAY_SECONDS:
        raise UnauthorizedError("the token has expired")
    if max(times["iat"], times["nbf"]) > now + _LEEWAY_SECONDS or now - times["iat"] > _LONGEST_LIFE_SECONDS:
        raise UnauthorizedError("the token has expired or is not valid yet")
    if not all(isinstance(claims[name], str) and 0 < len(claims[name]) <= 200 for name in ("jti", "sub")):
        raise UnauthorizedError("the token names no workflow")
    return claims
