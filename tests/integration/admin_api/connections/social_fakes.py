"""Bluesky and Mastodon, as far as their published descriptions say what these routes use.

Bluesky: lexicons ``com/atproto/server/createSession.json``, ``refreshSession.json`` and ``getSession.json``
(github.com/bluesky-social/atproto, folder lexicons), errors of ``atproto.com/specs/xrpc``. Mastodon:
docs.joinmastodon.org, methods/apps, methods/oauth, methods/accounts, methods/instance, methods/statuses.
"""

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any

from flask import Flask, Response, redirect, request

APP_PASSWORD = "abcd-efgh-ijkl-mnop"


def _json(body: object, status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json")


@dataclass
class Bluesky:
    port: int = 0
    counter: int = 0
    lifetime_seconds: int = 7200
    access: set[str] = field(default_factory=set)
    refresh: set[str] = field(default_factory=set)
    password: str = APP_PASSWORD
    seen: list[str] = field(default_factory=list)

    def session(self) -> dict[str, object]:
        self.counter += 1
        claims = {"exp": int(time.time()) + self.lifetime_seconds, "jti": self.counter}
        payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
        access, refresh = f"eyJh.{payload}.access{self.counter}", f"eyJh.{payload}.refresh{self.counter}"
        self.access.add(access)
        self.refresh.add(refresh)
        pds = {
            "id": "#atproto_pds",
            "type": "AtprotoPersonalDataServer",
            "serviceEndpoint": f"https://localhost:{self.port}",
        }
        return {
            "accessJwt": access,
            "refreshJwt": refresh,
            "handle": "robot.test",
            "did": "did:plc:ewvi7nxzyoun6zhxrhs64oiz",
            "didDoc": {"id": "did:plc:ewvi7nxzyoun6zhxrhs64oiz", "service": [pds]},
            "active": True,
        }


def bluesky_application(state: Bluesky) -> Flask:
    app = Flask("bluesky")

    def bearer() -> str:
        return request.headers.get("Authorization", "").removeprefix("Bearer ")

    @app.post("/xrpc/com.atproto.server.createSession")
    def create() -> Any:
        state.seen.append("createSession")
        body = request.get_json()
        if body != {"identifier": "robot.test", "password": state.password}:
            return _json({"error": "AuthenticationRequired", "message": "Invalid identifier or password"}, 401)
        return _json(state.session())

    @app.post("/xrpc/com.atproto.server.refreshSession")
    def refresh() -> Any:
        state.seen.append("refreshSession")
        assert not request.data  # the lexicon names no input
        if bearer() not in state.refresh:
            return _json({"error": "ExpiredToken", "message": "Token has been revoked"}, 400)
        state.refresh.discard(bearer())
        return _json(state.session())

    @app.get("/xrpc/com.atproto.server.getSession")
    def get() -> Any:
        if bearer() not in state.access:
            return _json({"error": "InvalidToken", "message": "Token could not be verified"}, 400)
        return _json({"handle": "robot.test", "did": "did:plc:ewvi7nxzyoun6zhxrhs64oiz"})

    return app


@dataclass
class Mastodon:
    token: str = "ZA-Yj3aBD8U8Cm7lKUp-lm9O9BmDgdhHzDeqsY8tlL0"
    redirect_uri: str = ""
    scopes: str = ""
    registrations: int = 0
    codes: set[str] = field(default_factory=set)


def mastodon_application(state: Mastodon) -> Flask:
    app = Flask("mastodon")

    def is_known() -> bool:
        return request.headers.get("Authorization") == f"Bearer {state.token}"

    @app.post("/api/v1/apps")
    def register() -> Any:
        body = request.get_json()
        state.registrations += 1
        state.redirect_uri, state.scopes = body["redirect_uris"], body["scopes"]
        if not body.get("client_name"):
            return _json({"error": "Validation failed: Application name can't be blank"}, 422)
        return _json({"id": "563419", "name": body["client_name"], "redirect_uri": body["redirect_uris"],
                      "client_id": "TWhM-tNSuncnqN7DBJmoyeLnk6K3iJJ71KKXxgL1hPM",
                      "client_secret": "ZEaFUFmF0umgBX1qKJDjaU99Q31lDkOU8NutzTOoliw"})  # fmt: skip

    @app.get("/oauth/authorize")
    def authorize() -> Any:
        asked = request.args
        if asked["redirect_uri"] != state.redirect_uri or asked["code_challenge_method"] != "S256":
            return _json({"error": "invalid_request"}, 400)
        state.codes.add("qDFUEaYrRK5c-HNmTCJbAzazwLRInJ7VHFat0wcMgCU")
        return redirect(
            f"{asked['redirect_uri']}?code=qDFUEaYrRK5c-HNmTCJbAzazwLRInJ7VHFat0wcMgCU&state={asked['state']}"
        )

    @app.post("/oauth/token")
    def token() -> Any:
        form = request.form
        if form["code"] not in state.codes or form["client_secret"] != "ZEaFUFmF0umgBX1qKJDjaU99Q31lDkOU8NutzTOoliw":
            return _json({"error": "invalid_grant"}, 400)
        state.codes.discard(form["code"])
        return _json(
            {"access_token": state.token, "token_type": "Bearer", "scope": state.scopes, "created_at": 1573979017}
        )

    @app.get("/api/v1/accounts/verify_credentials")
    def verify() -> Any:
        if not is_known():
            return _json({"error": "The access token is invalid"}, 401)
        return _json({"id": "1", "username": "robot", "acct": "robot", "display_name": "Robot",
                      "statuses_count": 3, "followers_count": 2})  # fmt: skip

    @app.get("/api/v2/instance")
    def instance() -> Any:
        return _json({"domain": "127.0.0.1", "title": "A small instance", "version": "4.4.1"})

    @app.get("/api/v1/statuses")
    def statuses() -> Any:
        if not is_known():
            return _json({"error": "The access token is invalid"}, 401)
        return _json([{"id": one, "content": f"<p>{one}</p>"} for one in request.args.getlist("id[]")])

    return app
