"""Who may call what: every route of the API, in one table (semantics.md, "Tenancy and roles").

A route that is not in it cannot be mounted. GET needs ``resource:read``, everything else ``resource:write``;
agents, keys and settings need ``admin:*``.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.agents.scopes import Scope
from headgate.ratelimits.classes import RateClass


class Audience(StrEnum):
    """Which credentials a route takes. ``AGENTS``: X-Agent-Key, or a bearer. ``ADMINISTRATORS``: a bearer, and no
    agent's key. ``PEOPLE``: a person's token, and no key. A browser's session is as good as its person's token.
    ``PAGES``: as ``PEOPLE``, for the dashboard, which answers in pages."""

    PUBLIC = "public"
    AGENTS = "agents"
    ADMINISTRATORS = "administrators"
    PEOPLE = "people"
    PAGES = "pages"


class Access(Struct, frozen=True):
    """What a route asks of a caller.

    ``recorded``: the route's own record compares the generation that the key was checked at (semantics.md,
    "Fresh state"), so that a cached key is as good as a fresh one there, and nowhere else.

    ``webhook_keys``: a key of that kind may call it, whose kind is its right, instead of the scope.

    ``or_owner``: of a person without the scope, the route itself asks whether they own the agent (decision 0086).

    ``is_urgent``: it stops, revokes or decides, and connections to the database are kept for it.
    """

    audience: Audience
    scope: Scope | None = None
    rate_class: RateClass | None = None
    recorded: bool = False
    webhook_keys: bool = False
    is_urgent: bool = False
    or_owner: bool = False


_PUBLIC: Final = Access(Audience.PUBLIC)
# Before anybody has an account: whoever sends, within a quota for each address.
_OPEN: Final = Access(Audience.PUBLIC, rate_class=RateClass.PUBLIC)


def _page(scope: Scope | None = None) -> Access:
    """A page of the dashboard: a signed-in person. What it shows and does, it asks the API's routes for."""
    return Access(Audience.PAGES, scope, RateClass.PAGES)


# Whoever has a bearer, whatever it may do.
_ANY_BEARER: Final = Access(Audience.ADMINISTRATORS, rate_class=RateClass.ADMIN)
# Everybody's own, whatever else they may do here.
_OWN: Final = Access(Audience.PEOPLE, rate_class=RateClass.ADMIN)


def _or_owner(access: Access) -> Access:
    """Also for the owner of the agent, whatever else they may do here."""
    return replace(access, or_owner=True)


def _urgent(access: Access) -> Access:
    """Whatever its quota."""
    return replace(access, is_urgent=True)


def _agents(scope: Scope, *, recorded: bool = False) -> Access:
    return Access(Audience.AGENTS, scope, RateClass.ACTIONS, recorded)


def _administrators(scope: Scope = Scope.ADMIN, *, webhook_keys: bool = False) -> Access:
    return Access(Audience.ADMINISTRATORS, scope, RateClass.ADMIN, webhook_keys=webhook_keys)


def _stream(scope: Scope) -> Access:
    """Returns the access of a stream. Each page opens it anew, so it does not count against the quota for changes."""
    return Access(Audience.ADMINISTRATORS, scope, RateClass.ACTIONS)


def _shut_off() -> Access:
    """Stopping and revoking: no quota refuses them, since an administrator must be able to stop a running attack."""
    return Access(Audience.ADMINISTRATORS, Scope.ADMIN, is_urgent=True)


def _decide(audience: Audience) -> Access:
    """A quota of its own: reading approvals does not use up the right to decide about them."""
    return _urgent(Access(audience, Scope.APPROVALS_WRITE, RateClass.DECISIONS))


def _integrations(*names: str) -> dict[tuple[str, str], Access]:
    """Settings of each, what was sent there and came in from there, and its connection's test."""
    found: dict[tuple[str, str], Access] = {}
    for name in names:
        path = f"/admin/settings/{name}"
        for method, route in (
            ("GET", path),
            ("PUT", path),
            ("POST", f"{path}/test"),
            ("GET", f"{path}/versions"),
            ("GET", f"{path}/deliveries"),
            ("POST", f"{path}/deliveries/{{}}/redeliver"),
            ("GET", f"{path}/receipts"),
        ):
            found[method, route] = _administrators()
    return found


ACCESS: Final[Mapping[tuple[str, str], Access]] = MappingProxyType(
    {
        ("GET", "/"): _PUBLIC,
        ("GET", "/ca.pem"): _PUBLIC,
        ("GET", "/openapi.json"): _PUBLIC,
        ("GET", "/skill.md"): _PUBLIC,
        ("GET", "/SKILL.md"): _PUBLIC,
        ("GET", "/skill.json"): _PUBLIC,
        ("GET", "/llms.txt"): _PUBLIC,
        ("GET", "/ready"): _PUBLIC,
        ("GET", "/health"): _PUBLIC,
        ("GET", "/health/live"): _PUBLIC,
        ("GET", "/health/ready"): _PUBLIC,
        ("GET", "/health/version"): _PUBLIC,
        ("GET", "/health/metrics"): _PUBLIC,
        ("GET", "/metrics"): _PUBLIC,
        ("GET", "/static/{}"): _PUBLIC,
        ("GET", "/errors/{}"): _PUBLIC,
        # The link is the credential; what it may, the page looks at itself.
        ("GET", "/links/{}"): _PUBLIC,
        ("POST", "/links/{}"): _PUBLIC,
        # Slack's signature is the credential; its rate class is counted by the route, for each connection.
        ("POST", "/webhooks/slack/{}"): _PUBLIC,
        # The dashboard, a line for each page and form.
        ("GET", "/inbox"): _page(Scope.APPROVALS_READ),
        ("POST", "/inbox"): _decide(Audience.PAGES),
        ("GET", "/inbox/{}"): _page(Scope.APPROVALS_READ),
        ("POST", "/inbox/{}"): _decide(Audience.PAGES),
        ("GET", "/grants"): _page(Scope.APPROVALS_READ),
        ("GET", "/grants/{}"): _page(Scope.APPROVALS_READ),
        ("POST", "/grants/{}"): _urgent(_page(Scope.APPROVALS_WRITE)),
        ("GET", "/break-glass"): _page(Scope.APPROVALS_READ),
        ("POST", "/break-glass"): _page(Scope.BREAK_GLASS),
        ("POST", "/break-glass/{}"): _urgent(_page(Scope.APPROVALS_WRITE)),
        ("POST", "/break-glass/{}/end"): _page(Scope.BREAK_GLASS),
        # - activity, calls, refusals, overview
        ("GET", "/activity"): _page(Scope.ACTIONS_READ),
        ("GET", "/calls/{}"): _or_owner(_page(Scope.ACTIONS_READ)),
        ("GET", "/calls/{}/body"): _page(Scope.ACTIONS_READ),
        ("GET", "/executions"): _page(Scope.ACTIONS_READ),
        ("POST", "/executions"): _page(Scope.ADMIN),
        ("GET", "/executions/{}"): _page(Scope.ACTIONS_READ),
        ("POST", "/executions/{}"): _page(Scope.ADMIN),
        ("GET", "/overview"): _page(Scope.ACTIONS_READ),
        # - policies
        ("GET", "/policies"): _page(Scope.POLICIES_READ),
        ("POST", "/policies"): _page(Scope.POLICIES_WRITE),
        ("GET", "/policies/new"): _page(Scope.POLICIES_WRITE),
        ("POST", "/policies/new"): _page(Scope.POLICIES_WRITE),
        ("POST", "/policies/check"): _page(Scope.POLICIES_READ),
        ("GET", "/policies/effect"): _page(Scope.ACTIONS_READ),
        ("GET", "/policies/content"): _page(Scope.POLICIES_READ),
        ("GET", "/policies/content/new"): _page(Scope.POLICIES_WRITE),
        ("POST", "/policies/content/new"): _page(Scope.POLICIES_WRITE),
        ("GET", "/policies/content/{}"): _page(Scope.POLICIES_READ),
        # Trying stores nothing; saving asks for policies:write (the call behind it).
        ("POST", "/policies/content/{}"): _page(Scope.POLICIES_READ),
        ("GET", "/policies/{}"): _page(Scope.POLICIES_READ),
        ("POST", "/policies/{}"): _page(Scope.POLICIES_WRITE),
        # - agents, stop, settings, connections
        ("GET", "/stop"): _urgent(_page(Scope.ADMIN)),
        # As the API's: no quota refuses it.
        ("POST", "/stop"): Access(Audience.PAGES, Scope.ADMIN, is_urgent=True),
        ("GET", "/agents"): _page(Scope.ADMIN),
        ("GET", "/agents/new"): _page(Scope.ADMIN),
        ("POST", "/agents/new"): _page(Scope.ADMIN),
        ("GET", "/agents/{}"): _page(Scope.ADMIN),
        ("POST", "/agents/{}"): _urgent(_page(Scope.ADMIN)),
        ("GET", "/settings"): _page(Scope.ADMIN),
        ("GET", "/settings/members"): _page(Scope.ADMIN),
        ("POST", "/settings/members"): _page(Scope.ADMIN),
        ("GET", "/settings/members/{}"): _page(Scope.ADMIN),
        ("POST", "/settings/members/{}"): _urgent(_page(Scope.ADMIN)),
        ("POST", "/settings/members/{}/sessions"): _urgent(_page(Scope.ADMIN)),
        ("GET", "/settings/groups"): _page(Scope.ADMIN),
        ("POST", "/settings/groups"): _page(Scope.ADMIN),
        ("GET", "/settings/groups/{}"): _page(Scope.ADMIN),
        ("POST", "/settings/groups/{}"): _page(Scope.ADMIN),
        ("GET", "/settings/destinations"): _page(Scope.ADMIN),
        ("POST", "/settings/destinations"): _page(Scope.ADMIN),
        ("GET", "/settings/executions"): _page(Scope.ADMIN),
        ("POST", "/settings/executions"): _page(Scope.ADMIN),
        ("GET", "/settings/credentials"): _page(Scope.ADMIN),
        ("POST", "/settings/credentials"): _page(Scope.ADMIN),
        ("GET", "/settings/captures"): _page(Scope.ADMIN),
        ("POST", "/settings/captures"): _page(Scope.ADMIN),
        ("GET", "/settings/siem"): _page(Scope.ADMIN),
        ("POST", "/settings/siem"): _page(Scope.ADMIN),
        ("GET", "/settings/notifications"): _page(Scope.ADMIN),
        ("POST", "/settings/notifications"): _page(Scope.ADMIN),
        ("GET", "/settings/notifications/channels/{}"): _page(Scope.ADMIN),
        ("POST", "/settings/notifications/channels/{}"): _page(Scope.ADMIN),
        ("GET", "/settings/notifications/rules/{}"): _page(Scope.ADMIN),
        ("POST", "/settings/notifications/rules/{}"): _page(Scope.ADMIN),
        ("GET", "/settings/notifications/messages"): _page(Scope.ADMIN),
        ("GET", "/settings/notifications/messages/{}"): _page(Scope.ADMIN),
        ("POST", "/settings/notifications/messages/{}"): _page(Scope.ADMIN),
        ("GET", "/settings/integrations"): _page(Scope.ADMIN),
        ("GET", "/settings/integrations/{}"): _page(Scope.ADMIN),
        ("POST", "/settings/integrations/{}"): _page(Scope.ADMIN),
        ("GET", "/settings/models"): _page(Scope.ADMIN),
        ("POST", "/settings/models"): _page(Scope.ADMIN),
        ("GET", "/settings/webhooks"): _page(Scope.ADMIN),
        ("POST", "/settings/webhooks"): _page(Scope.ADMIN),
        ("GET", "/settings/webhooks/{}"): _page(Scope.ADMIN),
        ("POST", "/settings/webhooks/{}"): _page(Scope.ADMIN),
        ("GET", "/settings/retention"): _page(Scope.ADMIN),
        ("POST", "/settings/retention"): _page(Scope.ADMIN),
        ("GET", "/settings/keys"): _page(Scope.ADMIN),
        ("POST", "/settings/keys"): _urgent(_page(Scope.ADMIN)),
        ("GET", "/connections"): _page(Scope.ADMIN),
        ("GET", "/connections/new"): _page(Scope.ADMIN),
        ("POST", "/connections/new"): _page(Scope.ADMIN),
        ("GET", "/connections/callback"): _page(Scope.ADMIN),
        ("GET", "/connections/{}"): _page(Scope.ADMIN),
        ("POST", "/connections/{}"): _page(Scope.ADMIN),
        ("GET", "/more"): _page(Scope.APPROVALS_READ),
        # - audit, traffic, reports
        ("GET", "/traffic"): _page(Scope.AUDIT_READ),
        ("GET", "/traffic/compare"): _page(Scope.AUDIT_READ),
        ("GET", "/traffic/{}"): _page(Scope.AUDIT_READ),
        ("POST", "/traffic/{}"): _page(Scope.AUDIT_READ),
        ("POST", "/traffic/{}/erase"): _page(Scope.ADMIN),
        ("GET", "/audit"): _page(Scope.AUDIT_READ),
        ("GET", "/audit/checkpoints"): _page(Scope.AUDIT_READ),
        ("POST", "/audit/checkpoints"): _page(Scope.AUDIT_READ),
        ("GET", "/audit/holds"): _page(Scope.ADMIN),
        ("POST", "/audit/holds"): _page(Scope.ADMIN),
        ("POST", "/audit/holds/{}"): _page(Scope.ADMIN),
        ("GET", "/audit/{}"): _page(Scope.AUDIT_READ),
        ("GET", "/reports"): _page(Scope.AUDIT_READ),
        ("POST", "/reports"): _page(Scope.AUDIT_READ),
        ("POST", "/reports/{}/delete"): _page(Scope.ADMIN),
        # - sign in, account
        ("GET", "/account"): _page(),
        ("GET", "/account/absences"): _page(Scope.APPROVALS_READ),
        ("POST", "/account/absences"): _page(Scope.APPROVALS_WRITE),
        ("POST", "/account/absences/{}"): _page(Scope.APPROVALS_WRITE),
        ("POST", "/account/sessions"): _urgent(_page()),
        ("POST", "/account/second-factor"): _page(),
        ("POST", "/account/passkeys"): _page(),
        ("GET", "/auth/login"): _OPEN,
        # The state and the browser's cookie are the credential; for the next two, the ticket.
        ("GET", "/auth/callback"): _OPEN,
        ("GET", "/auth/providers/{}/callback"): _OPEN,
        ("GET", "/auth/local/{}"): _OPEN,
        ("POST", "/auth/local/{}"): _OPEN,
        ("POST", "/auth/logout"): _OPEN,
        # The authenticator's signature is the credential; to join, the invitation's secret.
        ("POST", "/auth/passkey/options"): _OPEN,
        ("POST", "/auth/passkey"): _OPEN,
        ("POST", "/auth/invitation/options"): _OPEN,
        ("POST", "/auth/invitation"): _OPEN,
        ("GET", "/v1/passkeys"): _OWN,
        ("POST", "/v1/passkeys/options"): _OWN,
        ("POST", "/v1/passkeys"): _OWN,
        ("DELETE", "/v1/passkeys/{}"): _OWN,
        ("GET", "/auth/signed-out"): _OPEN,
        # The provider's signature is the credential; counted by the route, as a webhook.
        ("POST", "/auth/backchannel-logout"): _PUBLIC,
        ("GET", "/auth/session"): _OWN,
        ("GET", "/auth/session/organizations"): _OWN,
        ("GET", "/auth/sessions"): _OWN,
        ("DELETE", "/auth/sessions"): _urgent(_OWN),
        ("DELETE", "/auth/sessions/{}"): _urgent(_OWN),
        ("GET", "/admin/users/{}/sessions"): _administrators(),
        ("DELETE", "/admin/users/{}/sessions"): _shut_off(),
        ("DELETE", "/admin/users/{}/sessions/{}"): _urgent(_administrators()),
        ("PUT", "/admin/users/{}/roles"): _administrators(),
        ("GET", "/admin/invitations"): _administrators(),
        ("POST", "/admin/invitations"): _administrators(),
        ("DELETE", "/admin/invitations/{}"): _administrators(),
        ("GET", "/admin/organizations"): _administrators(Scope.OPERATOR),
        ("POST", "/admin/organizations"): _administrators(Scope.OPERATOR),
        ("GET", "/admin/organizations/{}"): _administrators(Scope.OPERATOR),
        ("GET", "/admin/organizations/{}/private-destinations"): _administrators(Scope.OPERATOR),
        ("PUT", "/admin/organizations/{}/private-destinations"): _administrators(Scope.OPERATOR),
        ("GET", "/admin/organizations/{}/members"): _administrators(Scope.OPERATOR),
        ("PUT", "/admin/organizations/{}/members/{}/roles"): _administrators(Scope.OPERATOR),
        ("GET", "/admin/organizations/{}/invitations"): _administrators(Scope.OPERATOR),
        ("POST", "/admin/organizations/{}/invitations"): _administrators(Scope.OPERATOR),
        ("DELETE", "/admin/organizations/{}/invitations/{}"): _administrators(Scope.OPERATOR),
        ("POST", "/webhooks/{}/{}"): _PUBLIC,
        ("GET", "/health/slo-status"): _PUBLIC,
        ("GET", "/health/db-stats"): _PUBLIC,
        ("GET", "/health/redis"): _PUBLIC,
        ("GET", "/health/memory"): _PUBLIC,
        ("GET", "/health/circuit-breakers"): _PUBLIC,
        ("GET", "/health/platform-stats"): _PUBLIC,
        ("OPTIONS", "/health/platform-stats"): _PUBLIC,
        ("POST", "/csp-report"): _OPEN,
        ("POST", "/v1/demo/evaluate"): _OPEN,
        ("POST", "/v1/funnel-events"): _OPEN,
        ("POST", "/v1/actions"): _agents(Scope.ACTIONS_WRITE, recorded=True),
        ("GET", "/v1/actions"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/agents/me"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/actions/search"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/actions/events"): _agents(Scope.ACTIONS_READ),
        ("GET", "/admin/progress/events"): _stream(Scope.ACTIONS_READ),
        ("GET", "/admin/overview"): _administrators(Scope.ACTIONS_READ),
        ("GET", "/admin/overview/health"): _administrators(Scope.ACTIONS_READ),
        ("GET", "/admin/actions/values"): _administrators(Scope.ACTIONS_READ),
        ("GET", "/v1/actions/{}"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/actions/{}/explanation"): _or_owner(_agents(Scope.ACTIONS_READ)),
        ("GET", "/v1/actions/{}/body"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/actions/{}/body/content"): _agents(Scope.ACTIONS_READ),
        ("POST", "/v1/approvals/{}/grant"): _agents(Scope.APPROVALS_WRITE),
        ("GET", "/admin/grants"): _administrators(Scope.APPROVALS_READ),
        ("POST", "/admin/grants"): _administrators(Scope.APPROVALS_WRITE),
        ("GET", "/admin/grants/{}"): _administrators(Scope.APPROVALS_READ),
        ("POST", "/admin/grants/{}/confirm"): _administrators(Scope.APPROVALS_WRITE),
        ("DELETE", "/admin/grants/{}"): _urgent(_administrators(Scope.APPROVALS_WRITE)),
        ("GET", "/admin/break-glass"): _administrators(Scope.APPROVALS_READ),
        ("POST", "/admin/break-glass"): _administrators(Scope.BREAK_GLASS),
        ("GET", "/admin/break-glass/{}"): _administrators(Scope.APPROVALS_READ),
        ("POST", "/admin/break-glass/{}/end"): _administrators(Scope.BREAK_GLASS),
        ("POST", "/admin/break-glass/{}/review"): _urgent(_administrators(Scope.APPROVALS_WRITE)),
        ("POST", "/v1/mcp-tools/offer"): _agents(Scope.ACTIONS_WRITE),
        ("GET", "/admin/canaries"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/canaries"): _administrators(Scope.POLICIES_WRITE),
        ("DELETE", "/admin/canaries/{}"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/mcp-tools"): _administrators(Scope.POLICIES_READ),
        ("DELETE", "/admin/mcp-tools"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/mcp-tools/{}"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/mcp-tools/{}/accept"): _administrators(Scope.POLICIES_WRITE),
        ("POST", "/v1/approvals/bulk-decision"): _decide(Audience.AGENTS),
        ("GET", "/v1/approvals/events"): _agents(Scope.APPROVALS_READ),
        ("POST", "/v1/actions/{}/outcome"): _agents(Scope.ACTIONS_WRITE),
        ("POST", "/v1/actions/{}/take"): _agents(Scope.ACTIONS_WRITE),
        ("POST", "/v1/actions/{}/cancel"): _agents(Scope.ACTIONS_WRITE),
        ("GET", "/v1/executions"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/executions/stats"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/executions/destinations"): _agents(Scope.ADMIN),
        ("GET", "/v1/executions/{}"): _agents(Scope.ACTIONS_READ),
        ("POST", "/v1/executions/process"): _agents(Scope.ADMIN),
        ("POST", "/v1/executions/process-all"): _agents(Scope.ADMIN),
        ("POST", "/v1/executions/retry"): _agents(Scope.ADMIN),
        ("GET", "/v1/approvals"): _agents(Scope.APPROVALS_READ),
        ("GET", "/v1/approvals/{}"): _agents(Scope.APPROVALS_READ),
        ("POST", "/v1/approvals/{}/approve"): _decide(Audience.AGENTS),
        ("POST", "/v1/approvals/{}/deny"): _decide(Audience.AGENTS),
        ("POST", "/v1/approvals/{}/reassign"): _agents(Scope.APPROVALS_WRITE),
        ("POST", "/v1/approvals/{}/escalate"): _agents(Scope.APPROVALS_WRITE),
        ("POST", "/admin/approvals/{}/decision"): _decide(Audience.ADMINISTRATORS),
        ("GET", "/v1/absences"): _agents(Scope.APPROVALS_READ),
        ("POST", "/v1/absences"): _agents(Scope.APPROVALS_WRITE),
        ("DELETE", "/v1/absences/{}"): _agents(Scope.APPROVALS_WRITE),
        ("GET", "/admin/approver-groups"): _administrators(Scope.APPROVALS_READ),
        ("POST", "/admin/approver-groups"): _administrators(),
        ("GET", "/admin/approver-groups/{}"): _administrators(Scope.APPROVALS_READ),
        ("PUT", "/admin/approver-groups/{}"): _administrators(),
        ("DELETE", "/admin/approver-groups/{}"): _administrators(),
        ("GET", "/admin/users"): _administrators(),
        ("POST", "/admin/users/{}/deactivate"): _shut_off(),
        ("POST", "/admin/users/{}/reactivate"): _administrators(),
        ("POST", "/admin/users/{}/unlock"): _administrators(),
        ("GET", "/admin/users/{}/factors"): _administrators(),
        ("DELETE", "/admin/users/{}/factors"): _administrators(),
        ("GET", "/admin/policies"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/policies/{}"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/data"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/data/{}"): _administrators(Scope.POLICIES_READ),
        ("PUT", "/admin/policies/data/{}"): _administrators(Scope.POLICIES_WRITE),
        ("DELETE", "/admin/policies/data/{}"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/policies/data/{}/versions"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/data/{}/restore"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/policies/{}/versions/{}/rule"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/modules"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/modules/{}"): _administrators(Scope.POLICIES_READ),
        ("PUT", "/admin/policies/modules/{}"): _administrators(Scope.POLICIES_WRITE),
        ("DELETE", "/admin/policies/modules/{}"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/policies/modules/{}/versions"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/modules/{}/restore"): _administrators(Scope.POLICIES_WRITE),
        # They store nothing, whatever their method.
        ("POST", "/v1/dry-run"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/{}/simulate"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/replay"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/replays"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/replays/{}"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/suggest"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/draft"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/examples"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/effect"): _administrators(Scope.ACTIONS_READ),
        ("POST", "/admin/policies/test"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/changes"): _administrators(Scope.POLICIES_WRITE),
        ("POST", "/admin/policies/check"): _administrators(Scope.POLICIES_READ),
        ("PUT", "/admin/policies/{}"): _administrators(Scope.POLICIES_WRITE),
        ("PATCH", "/admin/policies/{}"): _administrators(Scope.POLICIES_WRITE),
        ("DELETE", "/admin/policies/{}"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/policies/{}/versions"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/{}/versions/{}"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/{}/diff"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/{}/index"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/{}/restore"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/nlp-policies"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/nlp-policies"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/nlp-policies/templates"): _administrators(Scope.POLICIES_READ),
        # They save nothing and affect no action, whatever their method.
        ("POST", "/admin/nlp-policies/evaluate"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/nlp-policies/{}/test"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/nlp-policies/{}"): _administrators(Scope.POLICIES_READ),
        ("PATCH", "/admin/nlp-policies/{}"): _administrators(Scope.POLICIES_WRITE),
        ("DELETE", "/admin/nlp-policies/{}"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/.well-known/headgate-keys"): _PUBLIC,
        ("GET", "/admin/audit/reports"): _administrators(Scope.AUDIT_READ),
        ("POST", "/admin/audit/reports"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/reports/{}"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/reports/{}/download"): _administrators(Scope.AUDIT_READ),
        ("DELETE", "/admin/audit/reports/{}"): _administrators(),
        ("GET", "/admin/audit/checkpoints"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/keys"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/consistency"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/actions/{}/proof-pack"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/export"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/{}"): _administrators(Scope.AUDIT_READ),
        # It changes nothing and only reads the record, whatever its method.
        ("GET", "/admin/audit/verification"): _administrators(Scope.AUDIT_READ),
        ("POST", "/admin/audit/verification"): _administrators(Scope.AUDIT_READ),
        ("POST", "/admin/audit/verify"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/set-aside"): _administrators(Scope.AUDIT_READ),
        ("POST", "/admin/audit/set-aside/{}/apply"): _administrators(),
        ("GET", "/admin/traffic"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/traffic/timeline"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/traffic/diff"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/traffic/export"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/traffic/{}"): _administrators(Scope.AUDIT_READ),
        # Who reads captured traffic writes about it; what they write is on record.
        ("PUT", "/admin/traffic/{}/annotation"): _administrators(Scope.AUDIT_READ),
        ("DELETE", "/admin/traffic/{}"): _administrators(),
        ("GET", "/admin/settings/captures"): _administrators(),
        ("PUT", "/admin/settings/captures"): _administrators(),
        ("GET", "/admin/agents"): _administrators(),
        ("POST", "/admin/agents"): _administrators(),
        ("GET", "/admin/agents/{}"): _administrators(),
        ("PUT", "/admin/agents/{}"): _administrators(),
        ("DELETE", "/admin/agents/{}"): _administrators(),
        ("POST", "/admin/agents/{}/suspend"): _shut_off(),
        ("POST", "/admin/agents/{}/resume"): _administrators(),
        ("GET", "/admin/agents/{}/actions"): _administrators(),
        ("GET", "/admin/agents/{}/activity"): _administrators(),
        ("GET", "/admin/agents/{}/figures"): _administrators(),
        ("GET", "/admin/agents/{}/model-usage"): _administrators(),
        ("POST", "/admin/agents/{}/rotate-key"): _administrators(),
        ("GET", "/admin/agents/{}/keys"): _administrators(),
        ("POST", "/admin/agents/{}/keys"): _administrators(),
        ("GET", "/admin/agents/{}/keys/{}"): _administrators(),
        ("DELETE", "/admin/agents/{}/keys/{}"): _shut_off(),
        ("GET", "/admin/keys"): _administrators(),
        ("POST", "/admin/keys"): _administrators(),
        ("POST", "/admin/keys/revoke-matching"): _shut_off(),
        ("GET", "/admin/keys/{}"): _administrators(),
        ("DELETE", "/admin/keys/{}"): _shut_off(),
        ("POST", "/admin/keys/{}/take-over"): _administrators(),
        ("GET", "/admin/settings/allowlist"): _administrators(),
        ("PUT", "/admin/settings/allowlist"): _administrators(),
        ("GET", "/admin/settings/executions"): _administrators(),
        ("PUT", "/admin/settings/executions"): _administrators(),
        ("GET", "/admin/settings/credentials"): _administrators(),
        ("PUT", "/admin/settings/credentials"): _administrators(),
        ("GET", "/admin/settings/retention"): _administrators(),
        ("PUT", "/admin/settings/retention"): _administrators(),
        ("GET", "/admin/retention/holds"): _administrators(),
        ("POST", "/admin/retention/holds"): _administrators(),
        ("POST", "/admin/retention/holds/{}/lift"): _administrators(),
        ("POST", "/admin/retention/erasures"): _administrators(),
        # Everyone who sees calls sees why they are refused; only administrators stop and resume.
        ("GET", "/admin/settings/kill-switch"): _administrators(Scope.ACTIONS_READ),
        ("PUT", "/admin/settings/kill-switch"): _shut_off(),
        ("GET", "/admin/settings/nlp-providers"): _administrators(),
        ("PUT", "/admin/settings/nlp-providers"): _administrators(),
        ("POST", "/admin/settings/nlp-providers/test"): _administrators(),
        **_integrations("jira", "linear", "servicenow", "slack", "teams", "discord", "github-actions", "github"),
        ("GET", "/admin/settings/siem"): _administrators(),
        ("PUT", "/admin/settings/siem"): _administrators(),
        ("GET", "/admin/settings/notifications"): _administrators(),
        ("PUT", "/admin/settings/notifications"): _administrators(),
        ("GET", "/admin/settings/notifications/versions"): _administrators(),
        ("POST", "/admin/settings/notifications/test"): _administrators(),
        ("GET", "/admin/notifications"): _administrators(),
        ("GET", "/admin/notifications/{}"): _administrators(),
        ("POST", "/admin/notifications/{}/redeliver"): _administrators(),
        # A person's own; which session each needs, the route looks at itself.
        ("POST", "/v1/mfa/recovery-codes/generate"): _ANY_BEARER,
        ("GET", "/v1/mfa/recovery-codes/status"): _ANY_BEARER,
        ("POST", "/v1/mfa/recovery-codes/verify"): _ANY_BEARER,
        ("DELETE", "/v1/mfa/recovery-codes"): _ANY_BEARER,
        ("GET", "/v1/mfa/totp"): _ANY_BEARER,
        ("POST", "/v1/mfa/totp/enrol"): _ANY_BEARER,
        ("POST", "/v1/mfa/totp/activate"): _ANY_BEARER,
        ("POST", "/v1/mfa/totp/step-up"): _ANY_BEARER,
        ("DELETE", "/v1/mfa/totp"): _ANY_BEARER,
        ("GET", "/v1/connections/platforms"): _agents(Scope.ADMIN),
        ("GET", "/v1/connections"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections"): _agents(Scope.ADMIN),
        ("GET", "/v1/connections/{}"): _agents(Scope.ADMIN),
        ("PATCH", "/v1/connections/{}"): _agents(Scope.ADMIN),
        ("DELETE", "/v1/connections/{}"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections/oauth/initiate"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections/oauth/callback"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections/{}/refresh"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections/bluesky"): _agents(Scope.ADMIN),
        ("PUT", "/v1/connections/{}/bluesky"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections/mastodon"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections/mastodon/register"): _agents(Scope.ADMIN),
        ("GET", "/v1/connections/{}/mastodon/status"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections/{}/mastodon/batch"): _agents(Scope.ADMIN),
        ("PUT", "/v1/connections/{}/mastodon"): _agents(Scope.ADMIN),
        ("GET", "/v1/connections/{}/usage"): _agents(Scope.ADMIN),
        ("GET", "/v1/connections/{}/health"): _agents(Scope.ADMIN),
        ("POST", "/v1/connections/{}/test"): _agents(Scope.ADMIN),
        ("GET", "/admin/webhooks"): _administrators(webhook_keys=True),
        ("POST", "/admin/webhooks"): _administrators(),
        ("GET", "/admin/webhooks/{}"): _administrators(webhook_keys=True),
        ("PATCH", "/admin/webhooks/{}"): _administrators(),
        ("DELETE", "/admin/webhooks/{}"): _administrators(),
        ("POST", "/admin/webhooks/{}/rotate-secret"): _administrators(),
        ("POST", "/admin/webhooks/{}/test"): _administrators(),
        ("GET", "/admin/webhooks/{}/deliveries"): _administrators(webhook_keys=True),
        ("GET", "/admin/webhooks/{}/deliveries/{}"): _administrators(webhook_keys=True),
        ("POST", "/admin/webhooks/{}/deliveries/{}/redeliver"): _administrators(),
    }
)

_PARAMETER: Final = re.compile(r"\{[^}]*\}")


def access_of(method: str, path_template: str) -> Access:
    """What a route asks of its caller, whatever its parameters are called. Raises LookupError for one that
    nobody has decided about."""
    key = (method, _PARAMETER.sub("{}", path_template))
    if key not in ACCESS:
        raise LookupError(
            f"{method} {path_template} is not in admin_api.access.ACCESS. Add it with its audience and scope."
        )
    return ACCESS[key]
