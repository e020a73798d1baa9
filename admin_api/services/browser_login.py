"""Browser login by authorization code with PKCE (OpenID Connect Core 1.0, section 3.1; RFC 7636; RFC 9700).

What a callback must show: a state that was given out and not seen since, the cookie of the browser that it was given
to, the issuer's name where it says it (RFC 9207), and a code for which the provider answers an ID token with our nonce.

Where there are several providers, one that does not name itself in its answers comes back to an address of its own, or
nobody signs in there: otherwise another provider's answer could be taken for its (mix-up, RFC 9700, section 4.4).
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from urllib.parse import quote

import httpx
import structlog
from msgspec import Struct

from admin_api.process_settings import LoginClient
from admin_api.provider_metadata import Documents, MetadataSource, ProviderMetadata
from admin_api.tokens import TokenVerifier, VerifiedLogin
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ForbiddenError, NotFoundError, UnauthorizedError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.sessions.model import LoginAttempt, hash_secret, new_secret
from headgate.sessions.store import begin_login, take_login

_log = structlog.get_logger(__name__)

_ATTEMPT_LIFETIME: Final = timedelta(minutes=10)
CALLBACK_PATH: Final = "/auth/callback"


class LoginProvider(Struct, frozen=True):
    """A provider at which people sign in, and what Headgate is to it."""

    issuer: str
    client: LoginClient
    metadata: MetadataSource

    @property
    def name(self) -> str:
        return self.client.name or self.issuer


class BegunLogin(Struct, frozen=True):
    """Where the browser is sent, and what it is given to show when it comes back."""

    location: str
    browser_secret: Secret


class Wanted(Struct, frozen=True):
    """Which organization a login is for, where it matters: the one that was chosen, or that somebody was invited to."""

    organization: str | None = None
    invitation_hash: bytes | None = None


class FinishedLogin(Struct, frozen=True):
    """Who came back, by their provider's word, and where they wanted to go."""

    login: VerifiedLogin
    return_to: str
    wanted: Wanted


class BrowserLogin:
    """``public_url``: our origin, as the provider knows it in the redirect address."""

    def __init__(
        self,
        providers: Mapping[str, LoginProvider],
        *,
        tokens: TokenVerifier,
        documents: Documents,
        database: Database,
        clock: Clock,
        public_url: str,
    ) -> None:
        self.providers = providers
        self.tokens = tokens
        self._documents = documents
        self._database = database
        self._clock = clock
        self.public_url = public_url

    def invitation_address(self, secret: str) -> str:
        """Where whoever was invited begins."""
        return f"{self.public_url}/auth/login?invitation={secret}"

    async def begin(self, issuer: str, return_to: str, wanted: Wanted) -> BegunLogin:
        """Raises NotFoundError (nobody signs in there), UnavailableError."""
        provider = self.providers.get(issuer)
        if provider is None:
            raise NotFoundError("This issuer is not configured for sign-in.")
        metadata = await provider.metadata.metadata()
        if metadata.authorization_endpoint is None or metadata.token_endpoint is None:
            raise UnavailableError(f"the identity provider {issuer} has no authorization endpoint")
        redirect_uri = self._redirect_uri(provider, metadata)
        state, browser, nonce, verifier = (new_secret() for _ in range(4))
        attempt = LoginAttempt(
            browser_hash=hash_secret(browser),
            issuer=issuer,
            nonce=nonce.reveal(),
            code_verifier=verifier.reveal(),
            return_to=return_to,
            expires_at=self._clock() + _ATTEMPT_LIFETIME,
            wanted_organization=wanted.organization,
            invitation_hash=wanted.invitation_hash,
        )
        async with self._database.across_organizations() as connection:
            await begin_login(connection, hash_secret(state), attempt)
        location = httpx.URL(metadata.authorization_endpoint).copy_merge_params(
            {
                "response_type": "code",
                "client_id": provider.client.client_id,
                "redirect_uri": redirect_uri,
                "scope": " ".join(provider.client.scopes),
                "state": state.reveal(),
                "nonce": nonce.reveal(),
                "code_challenge": _challenge(verifier.reveal()),
                "code_challenge_method": "S256",
            }
        )
        return BegunLogin(str(location), browser)

    async def finish(
        self, answer: Mapping[str, str], browser: Secret | None, redirect_name: str | None
    ) -> FinishedLogin:
        """``answer``: the callback's query; ``redirect_name``: whose own address it came to, None for the one of all.

        Raises UnauthorizedError, ForbiddenError (the provider refused), UnavailableError.
        """
        async with self._database.across_organizations() as connection:
            attempt = await take_login(connection, hash_secret(Secret(answer.get("state", ""))))
        if attempt is None or attempt.expires_at <= self._clock():
            raise UnauthorizedError("this login has expired or is already complete")
        if browser is None or not hmac.compare_digest(hash_secret(browser), attempt.browser_hash):
            raise UnauthorizedError("this login started in another browser")
        provider = self.providers.get(attempt.issuer)
        if provider is None:
            raise UnauthorizedError("This issuer is no longer configured for sign-in.")
        if redirect_name != provider.client.redirect_name:
            raise UnauthorizedError("The response came from a different identity provider than the request.")
        metadata = await provider.metadata.metadata()
        redirect_uri = self._redirect_uri(provider, metadata)
        if answer.get("iss", None if metadata.names_itself_in_answers else attempt.issuer) != attempt.issuer:
            raise UnauthorizedError("The response came from a different identity provider than the request.")
        if "error" in answer:
            raise ForbiddenError(f"{provider.name} refused: {answer['error'][:100]}")
        if not answer.get("code") or metadata.token_endpoint is None:
            raise UnauthorizedError("the provider's response has no authorization code")
        token = await self._exchange(
            provider, metadata.token_endpoint, answer["code"], attempt.code_verifier, redirect_uri
        )
        login = await self.tokens.verify_login(
            token, issuer=attempt.issuer, client_id=provider.client.client_id, nonce=attempt.nonce
        )
        wanted = Wanted(attempt.wanted_organization, attempt.invitation_hash)
        return FinishedLogin(login, attempt.return_to, wanted)

    def _redirect_uri(self, provider: LoginProvider, metadata: ProviderMetadata) -> str:
        """Raises UnavailableError."""
        if (name := provider.client.redirect_name) is not None:
            return f"{self.public_url}/auth/providers/{name}/callback"
        if len(self.providers) > 1 and not metadata.names_itself_in_answers:
            raise UnavailableError(
                f"{provider.name} is one of several providers and does not name itself in its responses (RFC 9207)."
                " Set login.redirect_name to give it its own redirect address (docs/guides/signing-in.md)"
            )
        return self.public_url + CALLBACK_PATH

    async def _exchange(self, provider: LoginProvider, url: str, code: str, verifier: str, redirect_uri: str) -> Secret:
        """The ID token for this code. Raises UnavailableError, UnauthorizedError."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        client, basic = provider.client, None
        if client.client_secret is None:
            form["client_id"] = client.client_id
        else:
            # Each part form-encoded first (RFC 6749, section 2.3.1).
            basic = (quote(client.client_id, safe=""), quote(client.client_secret.reveal(), safe=""))
        try:
            answer: object = json.loads(await self._documents.post_form(url, form, basic=basic))
        except httpx.HTTPError as error:
            raise UnavailableError(f"{provider.name} cannot be reached. You are not signed in.") from error
        except ValueError as error:
            _log.warning("login_code_refused", issuer=provider.issuer, error=str(error))
            raise UnauthorizedError(f"{provider.name} did not accept its authorization code. Sign in again.") from error
        token = answer.get("id_token") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise UnauthorizedError(f"{provider.name}'s response has no ID token")
        return Secret(token)


def _challenge(verifier: str) -> str:
    """S256 (RFC 7636, section 4.2)."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
