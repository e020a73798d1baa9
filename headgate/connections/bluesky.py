"""Bluesky by app password: sessions of the AT Protocol.

``com.atproto.server.createSession`` and ``refreshSession`` (docs.bsky.app/docs/api; lexicons
``com/atproto/server/createSession.json`` and ``refreshSession.json`` of github.com/bluesky-social/atproto). The access
token is a JWT of about two hours; the refresh token rotates, and where it has ended the app password makes a new
session.
"""

import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from headgate.connections.credential import KeptSecrets
from headgate.connections.draft import invalid
from headgate.connections.model import Connection
from headgate.connections.oauth import (
    TokenAnswer,
    TokenRefusedError,
    TokenUnavailableError,
    is_token,
    lifetime,
    read_token,
)
from headgate.kernel.canonical_json import JsonObject, parse_strict
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.outgoing.model import OutgoingRequest, OutgoingResponse

type Send = Callable[[OutgoingRequest], Awaitable[OutgoingResponse]]

_FALLBACK_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True, repr=False)
class Session:
    """``did`` and ``handle``: whose it is. ``service``: where this account's data lives, as its DID document says."""

    tokens: TokenAnswer
    did: str
    handle: str
    service: str | None


async def create_session(service: str, identifier: str, app_password: Secret, send: Send, clock: Clock) -> Session:
    """Raises TokenRefusedError, TokenUnavailableError."""
    body = json.dumps({"identifier": identifier, "password": app_password.reveal()}).encode()
    headers = (("Content-Type", "application/json"), ("Accept", "application/json"))
    url = f"{service}/xrpc/com.atproto.server.createSession"
    return _session(await send(OutgoingRequest("POST", url, headers, body)), clock())


async def refresh_session(connection: Connection, secrets: KeptSecrets, send: Send, clock: Clock) -> TokenAnswer:
    """By the refresh token; where that has ended, by the app password. Raises as above."""
    service = str(connection.settings["service"])
    if (token := secrets.get("refresh_token")) is not None:
        headers = (("Authorization", f"Bearer {token.reveal()}"), ("Accept", "application/json"))
        url = f"{service}/xrpc/com.atproto.server.refreshSession"
        try:
            return _session(await send(OutgoingRequest("POST", url, headers)), clock()).tokens
        except TokenRefusedError:
            pass
    identifier = str(connection.settings["identifier"])
    return (await create_session(service, identifier, secrets.need("app_password"), send, clock)).tokens


def parse_identifier(text: str) -> str:
    """A handle, a DID or an e-mail address."""
    if not 3 <= len(text) <= 320 or not (text.isascii() and text.isprintable()) or " " in text:
        raise invalid("identifier", "expected a handle (name.bsky.social), a DID or an email address")
    return text.removeprefix("@")


def _session(response: OutgoingResponse, at: datetime) -> Session:
    document = _document(response)
    access, refresh = document.get("accessJwt"), document.get("refreshJwt")
    did, handle = document.get("did"), document.get("handle")
    if not (isinstance(access, str) and isinstance(refresh, str) and isinstance(did, str) and isinstance(handle, str)):
        # Also reads errors, which have the same form as those of OAuth.
        read_token(response, at)
        raise TokenUnavailableError("the service's response has no session")
    if not (is_token(access) and is_token(refresh)):
        raise TokenUnavailableError("the service's response has no valid token")
    expires_at, refresh_at = lifetime(_seconds_left(access, at), at)
    tokens = TokenAnswer(Secret(access), Secret(refresh), expires_at, refresh_at, None)
    return Session(tokens, did[:256], handle[:253], _service_of(document))


def _document(response: OutgoingResponse) -> JsonObject:
    try:
        document = parse_strict(response.body)
    except ValidationError:
        return {}
    return document if isinstance(document, dict) else {}


def _service_of(document: JsonObject) -> str | None:
    """The personal data server (did-core, section 5.4; atproto.com/specs/did, "#atproto_pds")."""
    described = document.get("didDoc")
    services = described.get("service") if isinstance(described, dict) else None
    for one in services if isinstance(services, list) else []:
        if isinstance(one, dict) and one.get("id") in ("#atproto_pds", f"{document.get('did')}#atproto_pds"):
            endpoint = one.get("serviceEndpoint")
            return endpoint if isinstance(endpoint, str) else None
    return None


def _seconds_left(token: str, at: datetime) -> int:
    """The expiry that the token names. It is not verified: who would be fooled is the service itself."""
    try:
        payload = token.split(".")[1]
        claims = parse_strict(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, binascii.Error, ValidationError, ValueError):
        return _FALLBACK_SECONDS
    expires = claims.get("exp") if isinstance(claims, dict) else None
    return max(int(expires - at.timestamp()), 1) if isinstance(expires, int) else _FALLBACK_SECONDS
