"""Who may call what: every route of the API, in one table (semantics.md, "Tenancy and roles").

A route that is not in it cannot be mounted. GET needs ``resource:read``, everything else ``resource:write``;
agents, keys and settings need ``admin:*``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from headgate.agents.scopes import Scope
from headgate.ratelimits.classes import RateClass


class Audience(StrEnum):
    """Which credentials a route takes. ``AGENTS``: X-Agent-Key, or a bearer. ``ADMINISTRATORS``: a bearer only."""

    PUBLIC = "public"
    AGENTS = "agents"
    ADMINISTRATORS = "administrators"


@dataclass(frozen=True, slots=True)
class Access:
    """What a route asks of a caller.

    ``recorded``: the route's own record compares the generation that the key was checked at (semantics.md,
    "Fresh state"), so that a cached key is as good as a fresh one there, and nowhere else.
    """

    audience: Audience
    scope: Scope | None = None
    rate_class: RateClass | None = None
    recorded: bool = False


_PUBLIC: Final = Access(Audience.PUBLIC)


def _agents(scope: Scope, *, recorded: bool = False) -> Access:
    return Access(Audience.AGENTS, scope, RateClass.ACTIONS, recorded)


def _administrators(scope: Scope = Scope.ADMIN) -> Access:
    return Access(Audience.ADMINISTRATORS, scope, RateClass.ADMIN)


ACCESS: Final[Mapping[tuple[str, str], Access]] = MappingProxyType(
    {
        ("GET", "/"): _PUBLIC,
        ("GET", "/ca.pem"): _PUBLIC,
        ("GET", "/openapi.json"): _PUBLIC,
        ("GET", "/ready"): _PUBLIC,
        ("GET", "/health"): _PUBLIC,
        ("GET", "/health/live"): _PUBLIC,
        ("GET", "/health/ready"): _PUBLIC,
        ("GET", "/health/version"): _PUBLIC,
        ("GET", "/health/metrics"): _PUBLIC,
        ("POST", "/v1/actions"): _agents(Scope.ACTIONS_WRITE, recorded=True),
        ("GET", "/v1/actions"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/actions/{}"): _agents(Scope.ACTIONS_READ),
        ("GET", "/v1/approvals"): _agents(Scope.APPROVALS_READ),
        ("GET", "/v1/approvals/{}"): _agents(Scope.APPROVALS_READ),
        ("POST", "/v1/approvals/{}/approve"): _agents(Scope.APPROVALS_WRITE),
        ("POST", "/v1/approvals/{}/deny"): _agents(Scope.APPROVALS_WRITE),
        ("POST", "/admin/approvals/{}/decision"): _administrators(Scope.APPROVALS_WRITE),
        ("GET", "/admin/policies"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/policies/{}"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/data"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/data/{}"): _administrators(Scope.POLICIES_READ),
        ("PUT", "/admin/policies/data/{}"): _administrators(Scope.POLICIES_WRITE),
        ("DELETE", "/admin/policies/data/{}"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/policies/data/{}/versions"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/data/{}/restore"): _administrators(Scope.POLICIES_WRITE),
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
        ("POST", "/admin/policies/test"): _administrators(Scope.POLICIES_READ),
        ("POST", "/admin/policies/check"): _administrators(Scope.POLICIES_READ),
        ("PUT", "/admin/policies/{}"): _administrators(Scope.POLICIES_WRITE),
        ("PATCH", "/admin/policies/{}"): _administrators(Scope.POLICIES_WRITE),
        ("DELETE", "/admin/policies/{}"): _administrators(Scope.POLICIES_WRITE),
        ("GET", "/admin/policies/{}/versions"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/{}/versions/{}"): _administrators(Scope.POLICIES_READ),
        ("GET", "/admin/policies/{}/diff"): _administrators(Scope.POLICIES_READ),
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
        ("GET", "/admin/audit"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/audit/{}"): _administrators(Scope.AUDIT_READ),
        # It changes nothing and only reads the record, whatever its method.
        ("POST", "/admin/audit/verify"): _administrators(Scope.AUDIT_READ),
        ("GET", "/admin/agents"): _administrators(),
        ("POST", "/admin/agents"): _administrators(),
        ("GET", "/admin/agents/{}"): _administrators(),
        ("POST", "/admin/agents/{}/rotate-key"): _administrators(),
        ("GET", "/admin/agents/{}/keys"): _administrators(),
        ("POST", "/admin/agents/{}/keys"): _administrators(),
        ("GET", "/admin/agents/{}/keys/{}"): _administrators(),
        ("DELETE", "/admin/agents/{}/keys/{}"): _administrators(),
        ("GET", "/admin/keys"): _administrators(),
        ("POST", "/admin/keys"): _administrators(),
        ("GET", "/admin/keys/{}"): _administrators(),
        ("DELETE", "/admin/keys/{}"): _administrators(),
        ("GET", "/admin/settings/allowlist"): _administrators(),
        ("PUT", "/admin/settings/allowlist"): _administrators(),
        ("GET", "/admin/settings/nlp-providers"): _administrators(),
        ("PUT", "/admin/settings/nlp-providers"): _administrators(),
        ("POST", "/admin/settings/nlp-providers/test"): _administrators(),
    }
)

_PARAMETER: Final = re.compile(r"\{[^}]*\}")


def access_of(method: str, path_template: str) -> Access:
    """What a route asks of its caller, whatever its parameters are called. Raises LookupError for one that
    nobody has decided about."""
    key = (method, _PARAMETER.sub("{}", path_template))
    if key not in ACCESS:
        raise LookupError(f"{method} {path_template} is not in admin_api.access.ACCESS: who may call it?")
    return ACCESS[key]
