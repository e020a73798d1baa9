"""The skill of the routes that are mounted and the catalogues that are bundled; the same for every organization."""

from collections.abc import Iterable

from starlette.routing import BaseRoute

from admin_api.access import Audience, access_of
from admin_api.discovery.examples import EXAMPLES
from admin_api.discovery.model import AgentRoute, KnownTool, Skill
from admin_api.guarded_route import GuardedRoute
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.tools.load import list_catalogues
from headgate.tools.model import Catalogue

_NAME = "headgate"
_DESCRIPTION = (
    "Work through Headgate, an action gateway for AI agents: policies decide each call, Headgate records it, and holds"
    " it if a policy requires an approval. Use this skill when Headgate refuses or holds a call, or before an action"
    " that needs an approval."
)
_NOT_FOR_AGENTS = ("/health", "/ready", "/csp-report", "/v1/demo", "/v1/funnel-events", "/SKILL.md")


def collect_skill(routes: Iterable[BaseRoute], version: str) -> Skill:
    return Skill(
        name=_NAME,
        description=_DESCRIPTION,
        version=version,
        routes=agent_routes(routes),
        tools=[_tool(catalogue) for catalogue in list_catalogues()],
        examples=EXAMPLES,
    )


def agent_routes(routes: Iterable[BaseRoute]) -> list[AgentRoute]:
    """Those that an agent's key opens, and those that are open to it without one."""
    found = []
    for route in routes:
        if not isinstance(route, GuardedRoute) or route.path_format.startswith(_NOT_FOR_AGENTS):
            continue
        for method in sorted(route.methods or ()):
            access = access_of(method, route.path_format) if method != "HEAD" else None
            if access is None or access.audience in (Audience.ADMINISTRATORS, Audience.PAGES):
                continue
            if access.scope is not None and access.scope not in KIND_SCOPES[KeyKind.AGENT]:
                continue
            summary = (route.description or "").split("\n\n", 1)[0].replace("\n", " ").strip()
            found.append(
                AgentRoute(method, route.path_format, None if access.scope is None else access.scope.value, summary)
            )
    return sorted(found, key=lambda one: (one.scope is None, one.path, one.method))


def _tool(catalogue: Catalogue) -> KnownTool:
    return KnownTool(
        tool=catalogue.tool,
        description=catalogue.description,
        hosts=list(catalogue.hosts),
        operations={entry.operation: str(entry.effect) for entry in catalogue.entries},
    )
