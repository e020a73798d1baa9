"""Our own access token at a provider: client credentials (RFC 6749, section 4.4), kept until shortly before its end."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

import httpx

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.mfa.providers.requests import TIMEOUT_SECONDS, ask

_EARLY_SECONDS: Final = 30.0


class MachineToken:
    def __init__(
        self,
        client: httpx.AsyncClient,
        provider: str,
        url: str,
        form: Mapping[str, str],
        secret: Secret,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._provider = provider
        self._url = url
        self._form = dict(form)
        self._secret = secret
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._token: Secret | None = None
        self._until = 0.0

    async def headers(self) -> dict[str, str]:
        """Raises UnavailableError. The wait for another caller's request for a token counts towards the same time."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS), self._lock:
                if self._token is None or self._monotonic() >= self._until:
                    await self._fetch()
                token = self._token
        except TimeoutError as error:
            raise UnavailableError(
                f"the identity provider ({self._provider}) does not answer", retry_after_seconds=5
            ) from error
        if token is None:
            raise UnavailableError(f"the identity provider ({self._provider}) gave no token")
        return {"authorization": f"Bearer {token.reveal()}"}

    async def _fetch(self) -> None:
        form = {"grant_type": "client_credentials", **self._form, "client_secret": self._secret.reveal()}
        answer = await ask(self._client, self._provider, "POST", self._url, headers={}, data=form)
        try:
            document = answer.json()
            token, seconds = str(document["access_token"]), float(document.get("expires_in", 60))
        except (ValueError, KeyError, TypeError) as error:
            raise UnavailableError(f"the identity provider ({self._provider}) gave no token") from error
        self._token = Secret(token)
        self._until = self._monotonic() + max(seconds - _EARLY_SECONDS, 1.0)
