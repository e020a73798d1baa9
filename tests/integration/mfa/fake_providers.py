"""Identity providers as their references describe them, on loopback-free ASGI: credentials checked, lists paged, errors
answered in their own form.

Supabase Auth: openapi.yaml of github.com/supabase/auth (``/admin/users/{id}/factors``, ``/logout``). Keycloak:
https://www.keycloak.org/docs-api/latest/rest-api/index.html. Auth0:
https://auth0.com/docs/api/management/v2 (users/authentication-methods, users/sessions, sessions) and its client
credentials grant.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

SERVICE_KEY = "service-role-key"
CLIENT_ID, CLIENT_SECRET = "headgate", "client-secret"
MACHINE_TOKEN = "machine-token"


@dataclass
class FakeProvider:
    """``factors`` and ``sessions`` by user; ``failing``: every call is answered so instead. ``calls``: method, path."""

    factors: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    sessions: dict[str, list[str]] = field(default_factory=dict)
    failing: int | None = None
    calls: list[tuple[str, str]] = field(default_factory=list)
    tokens_made: int = 0
    has_session_api: bool = True

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(app=self.app()))

    def app(self) -> Starlette:
        raise NotImplementedError

    def _seen(self, request: Request) -> Response | None:
        self.calls.append((request.method, request.url.path))
        return None if self.failing is None else JSONResponse({"error": "failing"}, self.failing)

    async def _token(self, request: Request, audience: str | None = None) -> Response:
        if (failed := self._seen(request)) is not None:
            return failed
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        wanted = {"grant_type": "client_credentials", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        if audience is not None:
            wanted["audience"] = audience
        if form != wanted:
            return JSONResponse({"error": "invalid_client"}, 401)
        self.tokens_made += 1
        return JSONResponse({"access_token": MACHINE_TOKEN, "token_type": "Bearer", "expires_in": 300})

    def _refused(self, request: Request) -> Response | None:
        if (failed := self._seen(request)) is not None:
            return failed
        if request.headers.get("authorization") != f"Bearer {MACHINE_TOKEN}":
            return JSONResponse({"error": "HTTP 401 Unauthorized"}, 401)
        return None

    def _remove(self, user: str, factor: str) -> bool:
        kept = [one for one in self.factors.get(user, []) if one["id"] != factor]
        removed = len(kept) < len(self.factors.get(user, []))
        self.factors[user] = kept
        return removed

    def _end(self, session: str) -> bool:
        for sessions in self.sessions.values():
            if session in sessions:
                sessions.remove(session)
                return True
        return False


class FakeSupabase(FakeProvider):
    def app(self) -> Starlette:
        users = "/auth/v1/admin/users/{user}/factors"
        return Starlette(
            routes=[
                Route(users, self.list_factors, methods=["GET"]),
                Route(users + "/{factor}", self.delete_factor, methods=["DELETE"]),
                Route("/auth/v1/logout", self.logout, methods=["POST"]),
            ]
        )

    def _admin(self, request: Request) -> Response | None:
        if (failed := self._seen(request)) is not None:
            return failed
        if request.headers.get("apikey") != SERVICE_KEY:
            return JSONResponse({"message": "Invalid API key"}, 401)
        if request.headers.get("authorization") != f"Bearer {SERVICE_KEY}":
            return JSONResponse({"code": 401, "msg": "not an admin"}, 401)
        return None

    async def list_factors(self, request: Request) -> Response:
        return self._admin(request) or JSONResponse(self.factors.get(request.path_params["user"], []))

    async def delete_factor(self, request: Request) -> Response:
        if (refused := self._admin(request)) is not None:
            return refused
        if not self._remove(request.path_params["user"], request.path_params["factor"]):
            return JSONResponse({"code": 404, "msg": "factor not found"}, 404)
        return JSONResponse({"id": request.path_params["factor"]})

    async def logout(self, request: Request) -> Response:
        """Of the session that the user's own token names: ``scope=others`` leaves that one."""
        if (failed := self._seen(request)) is not None:
            return failed
        session = request.headers["authorization"].removeprefix("Bearer ")
        assert request.query_params["scope"] == "others"
        for sessions in self.sessions.values():
            if session in sessions:
                sessions[:] = [session]
        return Response(status_code=204)


class FakeKeycloak(FakeProvider):
    def app(self) -> Starlette:
        user = "/auth/admin/realms/acme/users/{user}"
        return Starlette(
            routes=[
                Route("/auth/realms/acme/protocol/openid-connect/token", self.token, methods=["POST"]),
                Route(user + "/credentials", self.credentials, methods=["GET"]),
                Route(user + "/credentials/{credential}", self.delete_credential, methods=["DELETE"]),
                Route(user + "/sessions", self.user_sessions, methods=["GET"]),
                Route("/auth/admin/realms/acme/sessions/{session}", self.delete_session, methods=["DELETE"]),
            ]
        )

    async def token(self, request: Request) -> Response:
        return await self._token(request)

    async def credentials(self, request: Request) -> Response:
        return self._refused(request) or JSONResponse(self.factors.get(request.path_params["user"], []))

    async def delete_credential(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        removed = self._remove(request.path_params["user"], request.path_params["credential"])
        return Response(status_code=204) if removed else JSONResponse({"error": "Credential not found"}, 404)

    async def user_sessions(self, request: Request) -> Response:
        found = self.sessions.get(request.path_params["user"], [])
        return self._refused(request) or JSONResponse([{"id": one, "username": "alice"} for one in found])

    async def delete_session(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        ended = self._end(request.path_params["session"])
        return Response(status_code=204) if ended else JSONResponse({"error": "Sesssion not found"}, 404)


class FakeAuth0(FakeProvider):
    def app(self) -> Starlette:
        user = "/api/v2/users/{user:path}"
        return Starlette(
            routes=[
                Route("/oauth/token", self.token, methods=["POST"]),
                Route(user + "/authentication-methods", self.methods, methods=["GET"]),
                Route(user + "/authentication-methods/{method:path}", self.delete_method, methods=["DELETE"]),
                Route(user + "/sessions", self.user_sessions, methods=["GET"]),
                Route("/api/v2/sessions/{session}", self.delete_session, methods=["DELETE"]),
            ]
        )

    async def token(self, request: Request) -> Response:
        return await self._token(request, "https://acme.auth0.test/api/v2/")

    async def methods(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        page, each = int(request.query_params["page"]), int(request.query_params["per_page"])
        found = self.factors.get(request.path_params["user"], [])
        return JSONResponse(found[page * each : (page + 1) * each])

    async def delete_method(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        removed = self._remove(request.path_params["user"], request.path_params["method"])
        return Response(status_code=204) if removed else JSONResponse({"statusCode": 404}, 404)

    async def user_sessions(self, request: Request) -> Response:
        """Checkpoint pagination: ``take``, ``from`` and ``next``."""
        if (refused := self._refused(request)) is not None:
            return refused
        if not self.has_session_api:
            return JSONResponse({"statusCode": 403, "error": "Forbidden"}, 403)
        found = self.sessions.get(request.path_params["user"], [])
        start, take = int(request.query_params.get("from", 0)), int(request.query_params["take"])
        body: dict[str, Any] = {"sessions": [{"id": one} for one in found[start : start + take]]}
        if start + take < len(found):
            body["next"] = str(start + take)
        return JSONResponse(body)

    async def delete_session(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        ended = self._end(request.path_params["session"])
        return Response(status_code=202 if ended else 404)
