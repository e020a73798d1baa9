"""The application: every route in one place, each of them guarded."""

from collections.abc import Iterable
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Scope

from admin_api.absences.routes import router as absences
from admin_api.actions.body_routes import router as action_bodies
from admin_api.actions.explanation_routes import router as action_explanations
from admin_api.actions.outcome_routes import router as action_outcomes
from admin_api.actions.routes import router as actions
from admin_api.actions.search_routes import router as action_search
from admin_api.actions.stream_routes import router as action_events
from admin_api.actions.take_routes import router as action_taking
from admin_api.actions.value_routes import router as action_values
from admin_api.agents.history_routes import router as agent_history
from admin_api.agents.key_routes import router as agent_keys
from admin_api.agents.own_routes import router as own_agent
from admin_api.agents.routes import router as agents
from admin_api.agents.status_routes import router as agent_status
from admin_api.approvals.bulk_routes import router as approval_bulk
from admin_api.approvals.routes import router as approvals
from admin_api.approvals.stream_routes import router as approval_events
from admin_api.approver_groups.routes import router as approver_groups
from admin_api.arrival_shares import ArrivalShares
from admin_api.assets import router as assets
from admin_api.audit.export_routes import router as audit_export
from admin_api.audit.routes import router as audit
from admin_api.audit.set_aside_routes import router as audit_set_aside
from admin_api.audit.verification_routes import router as audit_verification
from admin_api.audit_reports.routes import router as audit_reports
from admin_api.body_limit import BODY_LIMIT_BYTES
from admin_api.break_glass.routes import router as break_glass
from admin_api.canaries.routes import router as canaries
from admin_api.connections.platform_routes import router as platform_connections
from admin_api.connections.routes import router as connections
from admin_api.demo.routes import router as demo
from admin_api.dependencies import Dependencies
from admin_api.description.complete import complete
from admin_api.direct_dispatch import DirectDispatch
from admin_api.discovery.routes import router as discovery
from admin_api.errors import (
    answer_defect,
    answer_headgate_error,
    answer_http_exception,
    answer_validation_error,
)
from admin_api.evidence.routes import router as evidence
from admin_api.executions.routes import router as executions
from admin_api.grants.routes import router as grants
from admin_api.guarded_route import GuardedRoute
from admin_api.health.part_routes import router as health_parts
from admin_api.health.parts import HealthParts
from admin_api.health.routes import router as health
from admin_api.integrations.inbound_routes import router as integration_webhooks
from admin_api.integrations.routes import router as integrations
from admin_api.keys.routes import router as keys
from admin_api.links.routes import router as links
from admin_api.mcp_tools.agent_routes import router as offered_mcp_tools
from admin_api.mcp_tools.routes import router as mcp_tools
from admin_api.mfa.recovery_routes import router as recovery_codes
from admin_api.mfa.totp_routes import router as totp
from admin_api.nlp_policies.routes import router as nlp_policies
from admin_api.notifications.routes import router as notifications
from admin_api.notifications.settings_routes import router as notification_settings
from admin_api.organizations.own_routes import router as own_members
from admin_api.organizations.routes import router as organizations
from admin_api.overview.health_routes import router as overview_health
from admin_api.overview.routes import router as overview
from admin_api.passkeys.routes import router as passkeys
from admin_api.policies.change_set_routes import router as policy_changes
from admin_api.policies.check_routes import router as policy_checks
from admin_api.policies.data_routes import router as policy_data
from admin_api.policies.draft_routes import router as policy_drafts
from admin_api.policies.dry_run_routes import router as dry_runs
from admin_api.policies.effect_routes import router as policy_effects
from admin_api.policies.example_routes import router as policy_examples
from admin_api.policies.index_routes import router as policy_index
from admin_api.policies.module_routes import router as policy_modules
from admin_api.policies.replay_routes import router as policy_replays
from admin_api.policies.routes import router as policies
from admin_api.policies.suggest_routes import router as policy_suggestions
from admin_api.policies.test_routes import router as policy_tests
from admin_api.policies.version_routes import router as policy_versions
from admin_api.progress.stream_routes import router as progress_events
from admin_api.refusals.routes import router as refusals
from admin_api.request_context import RequestContext
from admin_api.retention.routes import router as retention
from admin_api.root.routes import router as root
from admin_api.sessions.routes import router as sessions
from admin_api.settings.capture_routes import router as capture_settings
from admin_api.settings.execution_routes import router as execution_settings
from admin_api.settings.kill_switch_routes import router as kill_switch
from admin_api.settings.nlp_provider_routes import router as nlp_providers
from admin_api.settings.routes import router as settings
from admin_api.siem.routes import router as siem
from admin_api.sign_in.passkey_routes import router as passkey_sign_in
from admin_api.sign_in.routes import router as sign_in
from admin_api.slack.routes import router as slack
from admin_api.traffic.compare_routes import router as traffic_comparisons
from admin_api.traffic.export_routes import router as traffic_exports
from admin_api.traffic.routes import router as traffic
from admin_api.uncounted import UncountedClasses
from admin_api.unheard_proxy import UnheardProxy
from admin_api.users.factor_routes import router as user_factors
from admin_api.users.routes import router as users
from admin_api.web.routes import PAGES
from admin_api.webhooks.routes import router as webhooks
from headgate.kernel.errors import HeadgateError
from headgate.ratelimits.headers import rate_limit_headers

INTERFACE_VERSION: Final = "1.0.5"
"""Of the specification's interface (section "Versioning"); the program's own version is in /health/version."""

# Routes are tried in this order: the hot path first.
ROUTERS: Final[tuple[APIRouter, ...]] = (
    action_search,
    action_bodies,
    action_explanations,
    action_events,
    progress_events,
    overview,
    overview_health,
    action_values,
    actions,
    action_outcomes,
    action_taking,
    grants,
    break_glass,
    canaries,
    mcp_tools,
    offered_mcp_tools,
    approval_events,
    approval_bulk,
    approvals,
    absences,
    approver_groups,
    users,
    user_factors,
    sessions,
    sign_in,
    passkey_sign_in,
    own_members,
    organizations,
    executions,
    own_agent,
    agents,
    agent_status,
    agent_history,
    agent_keys,
    keys,
    policy_data,
    policy_modules,
    policy_changes,
    policy_checks,
    policy_index,
    policy_replays,
    policy_suggestions,
    policy_drafts,
    policy_examples,
    policy_effects,
    policy_tests,
    policies,
    policy_versions,
    dry_runs,
    nlp_policies,
    settings,
    nlp_providers,
    execution_settings,
    notification_settings,
    notifications,
    webhooks,
    recovery_codes,
    totp,
    passkeys,
    connections,
    platform_connections,
    links,
    refusals,
    slack,
    integrations,
    integration_webhooks,
    evidence,
    retention,
    audit_reports,
    kill_switch,
    siem,
    audit_export,
    capture_settings,
    traffic_comparisons,
    traffic_exports,
    traffic,
    audit_verification,
    audit_set_aside,
    audit,
    health,
    health_parts,
    demo,
    discovery,
    root,
    assets,
    *PAGES,
)


class _Application(FastAPI):
    """FastAPI with our layers around its own: ``add_middleware`` would put them inside of three that the hot path
    does not need."""

    body_limit_bytes: int = BODY_LIMIT_BYTES

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = complete(super().openapi())
        return self.openapi_schema

    def build_middleware_stack(self) -> ASGIApp:
        direct = DirectDispatch(super().build_middleware_stack(), routes=self.routes)
        classes = UncountedClasses(self.routes)

        def quota_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
            rate_class, dependencies = classes.of(scope), self.state.dependencies
            verdict = None if rate_class is None else dependencies.rate_limiter.untouched(rate_class)
            return [] if verdict is None else rate_limit_headers(verdict)

        dependencies: Dependencies | None = self.state.dependencies
        public_url = None if dependencies is None or dependencies.cookies is None else dependencies.api_url
        return RequestContext(
            direct,
            body_limit_bytes=self.body_limit_bytes,
            shares=self.state.arrival_shares,
            unheard=self.state.unheard_proxy,
            quota_headers=quota_headers,
            public_url=public_url,
        )


def create_app(
    dependencies: Dependencies | None,
    *,
    body_limit_bytes: int = BODY_LIMIT_BYTES,
    shares: ArrivalShares | None = None,
) -> FastAPI:
    """``dependencies`` None: for the description of the interface only; nothing can be called."""
    shares = shares or ArrivalShares()
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
    app.state.arrival_shares = shares
    app.state.unheard_proxy = UnheardProxy(shares.trusted_proxies)
    if dependencies is not None:
        app.state.health_parts = HealthParts(dependencies, dependencies.slos)
    app.body_limit_bytes = body_limit_bytes
    return app


def _guarded(routers: Iterable[APIRouter]) -> list[BaseRoute]:
    routes: list[BaseRoute] = []
    for router in routers:
        for route in router.routes:
            if not isinstance(route, GuardedRoute):
                raise TypeError(f"{route} is not a GuardedRoute: its caller would not be authenticated")
            routes.append(route)
    return routes
