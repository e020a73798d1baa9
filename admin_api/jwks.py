"""Public keys of token issuers: JSON Web Key Sets (RFC 7517), fetched, checked and cached.

Only asymmetric keys are ever taken, so that no token can be verified with a public key used as an HMAC's
secret (RFC 8725, section 3.1). A key's own type decides which algorithms it verifies, never the token.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import httpx
import structlog
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.exceptions import PyJWTError
from msgspec import Struct

from admin_api.provider_metadata import Documents, MetadataSource, with_tls_hint
from headgate.kernel.errors import UnauthorizedError, UnavailableError

_log = structlog.get_logger(__name__)

type PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey

ALGORITHMS: Final = frozenset({"RS256", "PS256", "ES256", "EdDSA"})
_MIN_RSA_BITS: Final = 2048  # RFC 7518, section 3.3
_FETCH_SECONDS: Final = 5.0
_REFRESH_SECONDS: Final = 2.0
_FRESH_SECONDS: Final = 600.0
_STALE_SECONDS: Final = 24 * 3600.0
_REFETCH_FLOOR_SECONDS: Final = 30.0
_WITHOUT_KEYS_SECONDS: Final = 1.0


class VerificationKey(Struct, frozen=True):
    """A public key and the algorithms that it may verify."""

    key: PublicKey
    algorithms: frozenset[str]


class KeySource(Protocol):
    """Where an issuer's keys come from."""

    async def find(self, key_id: str) -> VerificationKey | None: ...


class FixedKeys(Struct, frozen=True):
    """Keys that are known from the start: the local issuer's."""

    keys: Mapping[str, VerificationKey]

    async def find(self, key_id: str) -> VerificationKey | None:
        return self.keys.get(key_id)


def parse_jwks(text: bytes) -> dict[str, VerificationKey]:
    """The keys that can verify tokens, by key id; others are left out. Raises ValueError for no JWKS at all."""
    document: object = json.loads(text)
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("a JWKS has a list named keys")
    keys: dict[str, VerificationKey] = {}
    for entry in entries:
        if isinstance(entry, dict) and isinstance(key_id := entry.get("kid"), str):
            key = _verification_key(entry)
            if key is not None:
                keys[key_id] = key
    return keys


def _verification_key(entry: dict[str, object]) -> VerificationKey | None:
    if entry.get("kty") not in ("RSA", "EC", "OKP") or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    operations = entry.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    try:
        key = PyJWK(entry).key
    except (PyJWTError, ValueError, TypeError):
        return None
    algorithms = algorithms_of(key)
    if (named := entry.get("alg")) is not None:
        algorithms &= {str(named)}
    return VerificationKey(key, algorithms) if algorithms else None


def algorithms_of(key: object) -> frozenset[str]:
    """What a key of this type verifies; nothing for types, curves and sizes that are not accepted."""
    if isinstance(key, RSAPublicKey) and key.key_size >= _MIN_RSA_BITS:
        return frozenset({"RS256", "PS256"})
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        return frozenset({"ES256"})
    if isinstance(key, Ed25519PublicKey):
        return frozenset({"EdDSA"})
    return frozenset()


class RemoteKeys:
    """An issuer's JWKS over HTTPS.

    Fetched again after ten minutes, and at once for a key id that is not in it, but never more often than every
    30 s: made-up key ids must not turn this into a flood of requests to the issuer. While the issuer is out of
    reach what was fetched last serves for a day, and nobody waits for it: one request in 30 s tries, for 2 s.
    Without any keys the next request tries a second after the last has failed; who waited for that one fails with it.
    """

    def __init__(
        self,
        issuer: str,
        *,
        metadata: MetadataSource,
        documents: Documents,
        jwks_url: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer = issuer
        self._metadata = metadata
        self._documents = documents
        self._jwks_url = jwks_url
        self._monotonic = monotonic
        self._keys: dict[str, VerificationKey] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._lock = asyncio.Lock()

    async def find(self, key_id: str) -> VerificationKey | None:
        """Raises UnavailableError where there are no keys to look in."""
        if not self._serves(key_id) or (self._age() > _FRESH_SECONDS and self._may_try() and not self._lock.locked()):
            async with self._lock:
                if (key_id not in self._keys or self._age() > _FRESH_SECONDS) and self._may_try():
                    await self._fetch(_REFRESH_SECONDS if self._serves(key_id) else _FETCH_SECONDS)
        if self._age() > _STALE_SECONDS:
            raise UnavailableError("the token issuer's keys are unreachable; try again", retry_after_seconds=1)
        return self._keys.get(key_id)

    def _serves(self, key_id: str) -> bool:
        return key_id in self._keys and self._age() <= _STALE_SECONDS

    def _age(self) -> float:
        return float("inf") if self._fetched_at is None else self._monotonic() - self._fetched_at

    def _may_try(self) -> bool:
        floor = _REFETCH_FLOOR_SECONDS if self._age() <= _STALE_SECONDS else _WITHOUT_KEYS_SECONDS
        return self._tried_at is None or self._monotonic() - self._tried_at >= floor

    async def _fetch(self, seconds: float) -> None:
        self._tried_at = self._monotonic()
        try:
            async with asyncio.timeout(seconds):
                url = self._jwks_url or (await self._metadata.metadata()).jwks_url
                self._keys = parse_jwks(await self._documents.get(url))
            self._fetched_at = self._monotonic()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, TimeoutError, UnavailableError) as error:
            reason = str(error) or type(error).__name__
            self._tried_at = self._monotonic()
            _log.warning("token_keys_not_fetched", issuer=self._issuer, error=with_tls_hint(reason))


def require_key(key: VerificationKey | None, algorithm: str) -> VerificationKey:
    """Raises UnauthorizedError where the key is unknown or does not verify this algorithm."""
    if key is None:
        raise UnauthorizedError("the token is signed with a key that its issuer does not publish")
    if algorithm not in key.algorithms:
        raise UnauthorizedError("the token names an algorithm that its key is not for")
    return key
