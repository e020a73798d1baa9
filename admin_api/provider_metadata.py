"""What an OpenID Connect provider says of itself (OpenID Connect Discovery 1.0, section 4), fetched, checked, cached.

The document must be this issuer's own (section 4.3), and every address in it https: keys and codes that travel in
plain text are anybody's. Loopback is this machine's own.
"""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Final, Protocol

import httpx
import structlog
from msgspec import Struct

from headgate.kernel.errors import UnavailableError

_LIMIT_BYTES: Final = 256 * 1024
_SECONDS: Final = 5.0
_FRESH_SECONDS: Final = 3600.0
_RETRY_FLOOR_SECONDS: Final = 30.0
_WITHOUT_DOCUMENT_SECONDS: Final = 1.0
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


_log = structlog.get_logger(__name__)


def with_tls_hint(reason: str) -> str:
    """What to do about a certificate that is not trusted, for the log."""
    if "CERTIFICATE_VERIFY_FAILED" not in reason:
        return reason
    return f"{reason} (HEADGATE_UPSTREAM_CA_FILE adds roots)"


class ProviderMetadata(Struct, frozen=True):
    """Addresses of one provider. ``names_itself_in_answers``: its callbacks carry ``iss`` (RFC 9207)."""

    issuer: str
    jwks_url: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    end_session_endpoint: str | None = None
    names_itself_in_answers: bool = False


class MetadataSource(Protocol):
    async def metadata(self) -> ProviderMetadata:
        """Raises UnavailableError."""
        ...


class Documents:
    """JSON documents of providers: small, soon, and from where they are said to be (no redirects)."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def get(self, url: str) -> bytes:
        """Raises ValueError, httpx.HTTPError."""
        require_protected(url)
        async with self._client.stream("GET", url, timeout=_SECONDS, follow_redirects=False) as response:
            return await _body(response)

    async def post_form(self, url: str, form: dict[str, str], *, basic: tuple[str, str] | None = None) -> bytes:
        """Raises ValueError, httpx.HTTPError."""
        require_protected(url)
        auth = httpx.USE_CLIENT_DEFAULT if basic is None else httpx.BasicAuth(*basic)
        async with self._client.stream(
            "POST", url, data=form, auth=auth, timeout=_SECONDS, follow_redirects=False
        ) as response:
            return await _body(response)


async def _body(response: httpx.Response) -> bytes:
    address = response.url.copy_with(query=None)
    if response.status_code != httpx.codes.OK:
        raise ValueError(f"{address} answered {response.status_code}")
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _LIMIT_BYTES:
            raise ValueError(f"{address} answered more than {_LIMIT_BYTES} bytes")
    return body


def require_protected(url: str) -> None:
    """Raises ValueError."""
    parsed = httpx.URL(url)
    if parsed.scheme != "https" and not (parsed.scheme == "http" and parsed.host in _LOOPBACK):
        raise ValueError(f"not https: {url}")


def parse_metadata(text: bytes, issuer: str) -> ProviderMetadata:
    """Raises ValueError."""
    document: object = json.loads(text)
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise ValueError("the discovery document belongs to another issuer")
    addresses: dict[str, str] = {}
    for name in ("jwks_uri", "authorization_endpoint", "token_endpoint", "end_session_endpoint"):
        if (address := document.get(name)) is not None:
            if not isinstance(address, str):
                raise ValueError(f"the discovery document's {name} is not a URL")
            require_protected(address)
            addresses[name] = address
    if "jwks_uri" not in addresses:
        raise ValueError("the discovery document has no jwks_uri")
    return ProviderMetadata(
        issuer=issuer,
        jwks_url=addresses["jwks_uri"],
        authorization_endpoint=addresses.get("authorization_endpoint"),
        token_endpoint=addresses.get("token_endpoint"),
        end_session_endpoint=addresses.get("end_session_endpoint"),
        names_itself_in_answers=document.get("authorization_response_iss_parameter_supported") is True,
    )


class DiscoveredMetadata:
    """One provider's document, kept for an hour; while the provider is out of reach the last one serves on."""

    def __init__(self, issuer: str, documents: Documents, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._documents = documents
        self._monotonic = monotonic
        self._known: ProviderMetadata | None = None
        self._fetched_at = 0.0
        self._failed_at: float | None = None
        self._lock = asyncio.Lock()

    async def metadata(self) -> ProviderMetadata:
        """Raises UnavailableError."""
        async with self._lock:
            now = self._monotonic()
            is_fresh = self._known is not None and now - self._fetched_at <= _FRESH_SECONDS
            floor = _WITHOUT_DOCUMENT_SECONDS if self._known is None else _RETRY_FLOOR_SECONDS
            if not is_fresh and (self._failed_at is None or now - self._failed_at >= floor):
                await self._fetch(now)
        if self._known is None:
            raise UnavailableError(
                f"the identity provider {self._issuer} is unreachable, or its discovery document is not acceptable",
                retry_after_seconds=1,
            )
        return self._known

    async def _fetch(self, now: float) -> None:
        self._failed_at = now  # also where the caller gives up waiting
        try:
            text = await self._documents.get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
            self._known = parse_metadata(text, self._issuer)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            self._failed_at = self._monotonic()
            reason = str(error) or type(error).__name__
            _log.warning("provider_metadata_not_fetched", issuer=self._issuer, error=with_tls_hint(reason))
            if self._known is None:
                raise UnavailableError(
                    f"the identity provider {self._issuer} cannot be used: {reason}",
                    retry_after_seconds=1,
                ) from error
            return
        self._fetched_at, self._failed_at = now, None
