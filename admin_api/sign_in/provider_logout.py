"""Signing out at the provider, after the session here is over: OpenID Connect RP-Initiated Logout 1.0.

The browser takes the ID token that the session began with, so that the provider knows whom it is about, and comes back
to ``/auth/signed-out`` with the state that it was given. That address is to be registered at the provider.
"""

from typing import Final

import httpx
import structlog
from msgspec import Struct

from admin_api.services.browser_login import BrowserLogin
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.sessions.model import new_secret

_log = structlog.get_logger(__name__)

SIGNED_OUT_PATH: Final = "/auth/signed-out"
_MOST_HINT_CHARACTERS: Final = 4096
"""Servers refuse addresses of more than 8 KB (RFC 9110, section 4.1); without it the provider asks the person."""


class ProviderLogout(Struct, frozen=True):
    """Where the browser goes on to, and the state with which it comes back. ``provider``: what people call it."""

    location: str
    state: Secret
    provider: str


async def begin_provider_logout(login: BrowserLogin, issuer: str, hint: Secret | None) -> ProviderLogout | None:
    """None: the provider offers none, is not asked (``end_session: false``), or is out of reach. The person is signed
    out here all the same."""
    provider = login.providers.get(issuer)
    if provider is None or not provider.client.end_session:
        return None
    try:
        endpoint = (await provider.metadata.metadata()).end_session_endpoint
    except UnavailableError as error:
        _log.warning("provider_logout_unreachable", issuer=issuer, error=error.message)
        return None
    if endpoint is None:
        return None
    state = new_secret()
    asked = {
        "client_id": provider.client.client_id,
        "post_logout_redirect_uri": login.public_url + SIGNED_OUT_PATH,
        "state": state.reveal(),
    }
    if hint is not None and len(hint.reveal()) <= _MOST_HINT_CHARACTERS:
        asked["id_token_hint"] = hint.reveal()
    return ProviderLogout(str(httpx.URL(endpoint).copy_merge_params(asked)), state, provider.name)
