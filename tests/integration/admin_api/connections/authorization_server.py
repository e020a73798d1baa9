"""A platform with OAuth 2.0: Authlib's authorization server, with PKCE required and refresh tokens that work once.

A refresh token that comes a second time ends the whole consent (RFC 9700, section 4.14.2): a client that races with
itself is noticed here.
"""

import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6749.errors import OAuth2Error
from authlib.oauth2.rfc7636 import CodeChallenge
from flask import Flask, Response, request

SECRET = "client-secret-of-these-tests"
REDIRECT = "https://headgate.example/connections/callback"


@dataclass
class Client(ClientMixin):
    client_id: str = "headgate"
    client_secret: str = SECRET
    redirect_uri: str = REDIRECT
    allowed: tuple[str, ...] = ("repo", "read:org")

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_allowed_scope(self, scope: str | None) -> str:
        return " ".join(one for one in (scope or "").split() if one in self.allowed)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == self.redirect_uri

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == self.client_secret

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token", "client_credentials")


@dataclass
class Code(AuthorizationCodeMixin):
    code: str
    redirect_uri: str
    scope: str
    user: str
    code_challenge: str
    code_challenge_method: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


@dataclass
class Token(TokenMixin):
    access_token: str
    refresh_token: str | None
    scope: str
    user: str | None
    expires_in: int
    issued_at: float = field(default_factory=time.time)
    is_used: bool = False
    is_revoked: bool = False

    def check_client(self, client: Client) -> bool:
        return True

    def get_scope(self) -> str:
        return self.scope

    def get_expires_in(self) -> int:
        return self.expires_in

    def is_expired(self) -> bool:
        return time.time() > self.issued_at + self.expires_in


@dataclass
class Platform:
    """``user`` is who consents; ``says_who``: whether its accounts have identifiers.

    ``answers``: what the token endpoint says next instead: status and body. ``hang_seconds``: before it answers."""

    user: str = "ada"
    says_who: bool = True
    codes: dict[str, Code] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    answers: list[tuple[int, dict[str, object]]] = field(default_factory=list)
    seen: list[dict[str, str]] = field(default_factory=list)
    hang_seconds: float = 0.0
    lifetime_seconds: int = 3600
    lock: threading.Lock = field(default_factory=threading.Lock)

    def revoke_all(self) -> None:
        for one in self.tokens:
            one.is_revoked = True

    def works(self, access_token: str) -> bool:
        return any(one.access_token == access_token and not one.is_revoked for one in self.tokens)


def application(platform: Platform) -> Flask:
    app = Flask("platform")
    client = Client()

    def save_token(token: dict[str, Any], asked: Any) -> None:
        with platform.lock:
            platform.tokens.append(
                Token(token["access_token"], token.get("refresh_token"), token.get("scope", ""),
                      asked.user, token["expires_in"])
            )  # fmt: skip

    server = AuthorizationServer(app, lambda client_id: client if client_id == client.client_id else None, save_token)

    class ByCode(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

        def save_authorization_code(self, code: str, request: Any) -> Code:
            made = Code(
                code, request.payload.redirect_uri, request.payload.scope or "", request.user,
                request.payload.data.get("code_challenge"), request.payload.data.get("code_challenge_method"),
            )  # fmt: skip
            platform.codes[code] = made
            return made

        def query_authorization_code(self, code: str, client: Client) -> Code | None:
            return platform.codes.get(code)

        def delete_authorization_code(self, code: Code) -> None:
            platform.codes.pop(code.code, None)

        def authenticate_user(self, code: Code) -> str:
            return code.user

    class ByRefreshToken(grants.RefreshTokenGrant):
        INCLUDE_NEW_REFRESH_TOKEN = True
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

        def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
            with platform.lock:
                found = next((one for one in platform.tokens if one.refresh_token == refresh_token), None)
                if found is None or found.is_revoked:
                    return None
                if found.is_used:
                    platform.revoke_all()
                    return None
                found.is_used = True
                return found

        def authenticate_user(self, token: Token) -> str | None:
            return token.user

        def revoke_old_credential(self, token: Token) -> None:
            """It is marked when it is shown."""

    class ByClient(grants.ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

    def generate(
        grant_type: str, client: Client, user: str | None = None, scope: str | None = None,
        expires_in: int | None = None, include_refresh_token: bool = True,
    ) -> dict[str, object]:  # fmt: skip
        from secrets import token_urlsafe  # noqa: PLC0415 - named like this module's own elsewhere

        token: dict[str, object] = {
            "token_type": "Bearer",
            "access_token": f"access-{token_urlsafe(24)}",
            "expires_in": platform.lifetime_seconds,
            "scope": scope or "",
        }
        if include_refresh_token and grant_type != "client_credentials":
            token["refresh_token"] = f"refresh-{token_urlsafe(24)}"
        return token

    server.register_token_generator("default", generate)
    server.register_grant(ByCode, [CodeChallenge(required=True)])
    server.register_grant(ByRefreshToken)
    server.register_grant(ByClient)

    @app.get("/authorize")
    def authorize() -> Any:
        try:
            grant = server.get_consent_grant(end_user=platform.user)
        except OAuth2Error as error:
            return Response(json.dumps(dict(error.get_body())), 400)
        denied = request.args.get("state", "") in platform_denials
        return server.create_authorization_response(grant_user=None if denied else platform.user, grant=grant)

    platform_denials: set[str] = app.config.setdefault("DENIED", set())

    @app.post("/token")
    def token() -> Any:
        platform.seen.append(dict(request.form))
        if platform.hang_seconds:
            time.sleep(platform.hang_seconds)
        if platform.answers:
            status, body = platform.answers.pop(0)
            return Response(json.dumps(body), status, content_type="application/json")
        return server.create_token_response()

    @app.get("/user")
    def user() -> Any:
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        names = {one.access_token: one.user for one in platform.tokens}
        login = names.get(shown)
        text = json.dumps({"login": login, **({"id": len(login)} if login and platform.says_who else {})})
        return Response(text, 200 if platform.works(shown) else 401, content_type="application/json")

    return app
