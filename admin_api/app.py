"""The application: every route in one place, each of them guarded."""

from collections.abc import Iterable
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from admin_api.actions.routes import router as actions
from admin_api.agents.key_routes import router as agent_keys
from admin_api.agents.routes import router as agents
from admin_api.approvals.routes import router as approvals
from admin_api.audit.routes import router as audit
from admin_api.body_limit import BODY_LIMIT_BYTES
from admin_api.dependencies import Dependencies
from admin_api.direct_dispatch import DirectDispatch
from admin_api.errors import (
    answer_defect,
    answer_headgate_error,
    answer_http_exception,
    answer_validation_error,
)
from admin_api.guarded_route import GuardedRoute
from admin_api.health.routes import router as health
from admin_api.keys.routes import router as keys
from admin_api.nlp_policies.routes import router as nlp_policies
from admin_api.policies.check_routes import router as policy_checks
from admin_api.policies.data_routes import router as policy_data
from admin_api.policies.dry_run_routes import router as dry_runs
from admin_api.policies.module_routes import router as policy_modules
from admin_api.policies.replay_routes import router as policy_replays
from admin_api.policies.routes import router as policies
from admin_api.policies.suggest_routes import router as policy_suggestions
from admin_api.policies.test_routes import router as policy_tests
from admin_api.policies.version_routes import router as policy_versions
from admin_api.request_context import RequestContext
from admin_api.root.routes import router as root
from admin_api.settings.nlp_provider_routes import router as nlp_providers
from admin_api.settings.routes import router as settings
from headgate.kernel.errors import HeadgateError

INTERFACE_VERSION: Final = "1.0.5"
"""Of the specification's interface (section "Versioning"); the program's own version is in /health/version."""

# Routes are tried in this order: the hot path first.
ROUTERS: Final[tuple[APIRouter, ...]] = (
    actions,
    approvals,
    agents,
    agent_keys,
    keys,
    policy_data,
    policy_modules,
    policy_checks,
    policy_replays,
    policy_suggestions,
    policy_tests,
    policies,
    policy_versions,
    dry_runs,
    nlp_policies,
    settings,
    nlp_providers,
    audit,
    health,
    root,
)


class _Application(FastAPI):
    """FastAPI with our layers around its own: ``add_middleware`` would put them inside of three that the hot path
    does not need."""

    body_limit_bytes: int = BODY_LIMIT_BYTES

    def openapi(self) -> dict[str, Any]:
        """FastAPI describes a malformed request as its own 422; here it is a 400 (``admin_api.errors``)."""
        if self.openapi_schema is None:
            document = super().openapi()
            for path in document["paths"].values():
                for operation in path.values():
                    if operation["responses"].pop("422", None) is not None:
                        operation["responses"]["400"] = {"description": "VALIDATION_ERROR"}
            for name in ("HTTPValidationError", "ValidationError"):
                document.get("components", {}).get("schemas", {}).pop(name, None)
        return super().openapi()

    def build_middleware_stack(self) -> ASGIApp:
        direct = DirectDispatch(super().build_middleware_stack(), routes=self.routes)
        return RequestContext(direct, body_limit_bytes=self.body_limit_bytes)


def create_app(dependencies: Dependencies | None, *, body_limit_bytes: int = BODY_LIMIT_BYTES) -> FastAPI:
    """``dependencies`` None: for the description of the interface only; nothing can be called."""
    routes = _guarded(ROUTERS)
    app = _Application(
        title="Headgate",
        summary="Decides, holds and records what AI agents do.",
        version=INTERFACE_VERSION,
        # Not ``include_router``: it would put a second layer of routing between a request and its route.
        routes=routes,
        openapi_url=None,  # a guarded route of our own answers it
        docs_url=None,  # FastAPI's pages load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            HeadgateError: answer_headgate_error,
            RequestValidationError: answer_validation_error,
            HTTPException: answer_http_exception,
            Exception: answer_defect,
        },
    )
    app.state.dependencies = dependencies
    app.body_limit_bytes = body_limit_bytes
    return app


def _guarded(routers: Iterable[APIRouter]) -> list[BaseRoute]:
    routes: list[BaseRoute] = []
    for router in routers:
        for route in router.routes:
            if not isinstance(route, GuardedRoute):
                raise TypeError(f"{route} is not a GuardedRoute: nobody would ask who calls it")
            routes.append(route)
    return routes
