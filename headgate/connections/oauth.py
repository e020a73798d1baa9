"""OAuth 2.0 as a client: what is sent and how answers are read. Pure; ``headgate.outgoing`` sends.

RFC 6749 with what RFC 9700 (best current practice) asks of clients: PKCE with S256 always (RFC 7636), a state that is
random and used once, the exact redirect address in both requests, the issuer compared where it is given (RFC 9207),
credentials of the client never in an address.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct

from headgate.connections.draft import invalid
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.outgoing.model import OutgoingRequest, OutgoingResponse

FLOW_LIFETIME: Final = timedelta(minutes=10)
_REFRESH_MARGIN: Final = timedelta(minutes=5)
_ERROR_MAX: Final = 200
_LIFETIME_MAX: Final = 10 * 365 * 24 * 3600
_FINAL_ERRORS: Final = frozenset(
    {"invalid_grant", "invalid_client", "unauthorized_client", "access_denied", "invalid_scope", "invalid_token"}
    | {"unsupported_grant_type", "bad_refresh_token", "invalid_refresh_token", "token_revoked", "bad_verification_code"}
    | {"incorrect_client_credentials", "ExpiredToken", "InvalidToken", "AuthenticationRequired", "AccountTakedown"}
)


class TokenRefusedError(ValidationError):
    """The platform gives no token, and asking again changes nothing: somebody has to consent anew."""


class TokenUnavailableError(UnavailableError):
    """The platform did not answer, or not with a token: it may later."""


class OAuthClient(Struct, frozen=True):
    """How an organization is known at a platform. ``secret`` None: a public client (PKCE alone)."""

    client_id: str
    secret: Secret | None
    token_url: str
    authentication: str = "header"
    body_format: str = "form"


@dataclass(frozen=True, slots=True, repr=False)
class TokenAnswer:
    access_token: Secret
    refresh_token: Secret | None
    expires_at: datetime | None
    refresh_at: datetime | None
    scopes: tuple[str, ...] | None


def new_state() -> Secret:
    """256 bits."""
    return Secret(secrets.token_urlsafe(32))


def state_hash(state: Secret) -> str:
    return hashlib.sha256(state.reveal().encode()).hexdigest()


def new_verifier() -> Secret:
    """RFC 7636, section 4.1."""
    return Secret(secrets.token_urlsafe(48))


def challenge(verifier: Secret) -> str:
    """S256 (RFC 7636, section 4.2)."""
    digest = hashlib.sha256(verifier.reveal().encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def parse_redirect_uri(text: str) -> str:
    """https, or plain on the person's own machine (RFC 8252, section 7.3). It is compared as text afterwards."""
    parts = urlsplit(text)
    local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if len(text) > 2048 or parts.fragment or "@" in parts.netloc or not parts.hostname or not text.isascii():
        raise invalid("redirect_uri", "must be an absolute address without a fragment (RFC 6749, section 3.1.2)")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise invalid("redirect_uri", "must begin with https://, or point to this machine")
    return text


def authorization_url(
    endpoint: str,
    *,
    client_id: str,
    redirect_uri: str,
    scope: str,
    state: Secret,
    verifier: Secret,
    parameters: Mapping[str, str],
) -> str:
    """RFC 6749, section 4.1.1."""
    asked = {
        **parameters,
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "state": state.reveal(),
        "code_challenge": challenge(verifier),
        "code_challenge_method": "S256",
    }
    if scope:
        asked["scope"] = scope
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"


def code_request(client: OAuthClient, *, code: str, redirect_uri: str, verifier: Secret) -> OutgoingRequest:
    """RFC 6749, section 4.1.3."""
    members = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier.reveal(),
    }
    return _token_request(client, members)


def refresh_request(client: OAuthClient, refresh_token: Secret) -> OutgoingRequest:
    """RFC 6749, section 6."""
    return _token_request(client, {"grant_type": "refresh_token", "refresh_token": refresh_token.reveal()})


def client_credentials_request(client: OAuthClient, scopes: tuple[str, ...]) -> OutgoingRequest:
    """RFC 6749, section 4.4.2."""
    members = {"grant_type": "client_credentials"}
    if scopes:
        members["scope"] = " ".join(scopes)
    return _token_request(client, members)


def _token_request(client: OAuthClient, members: Mapping[str, str]) -> OutgoingRequest:
    sent = dict(members)
    headers = [("Accept", "application/json")]
    if client.secret is None:
        sent["client_id"] = client.client_id
    elif client.authentication == "header":
        # Both are form-encoded before (RFC 6749, section 2.3.1).
        pair = f"{quote(client.client_id, safe='')}:{quote(client.secret.reveal(), safe='')}"
        headers.append(("Authorization", "Basic " + base64.b64encode(pair.encode()).decode()))
    else:
        sent |= {"client_id": client.client_id, "client_secret": client.secret.reveal()}
    if client.body_format == "json":
        headers.append(("Content-Type", "application/json"))
        body = json.dumps(sent).encode()
    else:
        headers.append(("Content-Type", "application/x-www-form-urlencoded"))
        body = urlencode(sent).encode()
    return OutgoingRequest("POST", client.token_url, tuple(headers), body)


def read_token(response: OutgoingResponse, at: datetime) -> TokenAnswer:
    """RFC 6749, sections 5.1 and 5.2. GitHub and Slack say errors with a status of 200.

    Raises TokenRefusedError, TokenUnavailableError; neither shows more of the answer than its error code.
    """
    document = _document(response)
    error = document.get("error")
    if error is not None or document.get("ok") is False or response.status >= 400:
        raise _refused(response.status, error)
    access_token = document.get("access_token")
    if not isinstance(access_token, str) or not is_token(access_token):
        raise TokenUnavailableError("the platform's response has no access token")
    token_type = document.get("token_type", "bearer")
    if not isinstance(token_type, str) or token_type.lower() not in ("bearer", "bot", "user"):
        raise TokenRefusedError("the platform's token type is not bearer (RFC 6749, section 7.1)")
    refresh_token = document.get("refresh_token")
    expires_at, refresh_at = lifetime(document.get("expires_in"), at)
    scope = document.get("scope")
    return TokenAnswer(
        access_token=Secret(access_token),
        refresh_token=Secret(refresh_token) if isinstance(refresh_token, str) and is_token(refresh_token) else None,
        expires_at=expires_at,
        refresh_at=refresh_at,
        scopes=tuple(scope.replace(",", " ").split()) if isinstance(scope, str) else None,
    )


def lifetime(seconds: JsonValue, at: datetime) -> tuple[datetime | None, datetime | None]:
    """When it ends, and when another is had: some minutes, or a quarter of its life, before. None: it says nothing."""
    if isinstance(seconds, str) and seconds.isdigit():
        seconds = int(seconds)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 < seconds < _LIFETIME_MAX:
        return None, None
    whole = timedelta(seconds=seconds)
    return at + whole, at + whole - min(_REFRESH_MARGIN, whole / 4)


def is_token(text: str) -> bool:
    """Whether it can stand in a header, and be found again in an answer."""
    return 8 <= len(text) <= 16 * 1024 and text.isascii() and text.isprintable() and " " not in text


def _document(response: OutgoingResponse) -> JsonObject:
    if response.is_truncated:
        raise TokenUnavailableError("the platform's response is too long for a token response")
    content_type = (response.header("content-type") or "").partition(";")[0].strip().lower()
    if content_type == "application/x-www-form-urlencoded":
        return dict(parse_qsl(response.body.decode("latin-1"), max_num_fields=100))
    try:
        document = parse_strict(response.body)
    except ValidationError as error:
        if response.status >= 400:
            raise _refused(response.status, None) from error
        raise TokenUnavailableError("the platform's response is not JSON") from error
    if not isinstance(document, dict):
        raise TokenUnavailableError("the platform's response has no valid token")
    return document


def _refused(status: int, error: JsonValue) -> TokenRefusedError | TokenUnavailableError:
    name = error if isinstance(error, str) else ""
    shown = "".join(one for one in name[:_ERROR_MAX] if one.isascii() and one.isprintable())
    said = f"the platform answered {status}" + (f": {shown}" if shown else "")
    if name in _FINAL_ERRORS or (status in (400, 401, 403) and name not in ("temporarily_unavailable", "server_error")):
        return TokenRefusedError(said, details={"error": shown or None, "status": status})
    return TokenUnavailableError(said, details={"error": shown or None, "status": status})
