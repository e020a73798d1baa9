"""/, /openapi.json and /ca.pem: entry points for a caller that knows only the address."""

import json
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import dependencies_of
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.root.certificates import trusted_certificates
from headgate.kernel.errors import NotFoundError

router = APIRouter(route_class=GuardedRoute, tags=["service"])

_ROOT: Final = {
    "name": "Headgate",
    "what": "Decides, holds and records what AI agents do.",
    "interface": "/openapi.json",
    "skill": "/skill.md",
    "llms": "/llms.txt",
    "proxy_certificate": "/ca.pem",
    "health": "/health",
    "version": "/health/version",
    "metrics": "/health/metrics",
    "agents": "/v1/actions",
    "administrators": "/admin/agents",
}


@router.get("/", response_class=Response, responses={303: {"description": "A browser: on to the dashboard"}})
async def root(request: Request) -> Response:
    """Lists the entry points of the API."""
    if "text/html" in request.headers.get("accept", ""):  # a browser, for example after signing in
        return Response(status_code=303, headers={"Location": "/inbox", "Vary": "Accept"})
    return Response(json.dumps(_ROOT), media_type=JSON, headers={"Vary": "Accept"})


@router.get("/openapi.json", response_class=Response)
async def openapi(request: Request) -> Response:
    """Gets the OpenAPI 3.1 description of this API."""
    return Response(json.dumps(request.app.openapi()), media_type=JSON)


@router.get("/ca.pem", response_class=Response, responses={404: {"description": "No proxy on this host"}})
async def ca_certificate(request: Request) -> Response:
    """Gets the public certificates of the proxy's certificate authority, which agents must trust."""
    certificates = trusted_certificates(dependencies_of(request).ca_certificate)
    if not certificates:
        raise NotFoundError("No proxy runs on the host of this API, or its certificate authority does not exist yet.")
    return Response(
        certificates,
        media_type="application/x-pem-file",
        headers={"Content-Disposition": 'attachment; filename="headgate-ca.pem"'},
    )
