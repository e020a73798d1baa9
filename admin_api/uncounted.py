"""The quota that an answer tells of whose sender was never counted (specification, "Limits": every answer tells one).

A credential that nobody knows, a method that a path does not have, a body that is too large: refused before it is known
whose quota it would be, and counted against none. Such an answer tells the quota of the route's class, untouched, so
that whoever guesses credentials learns nothing from it of anybody's use.
"""

from collections.abc import Iterable
from typing import Final

from starlette.routing import BaseRoute
from starlette.types import Scope

from admin_api.guarded_route import GuardedRoute
from headgate.ratelimits.classes import RateClass

_BY_PREFIX: Final = (
    ("/admin/", RateClass.ADMIN),
    ("/v1/", RateClass.ACTIONS),
    ("/webhooks/", RateClass.WEBHOOKS),
)
"""Where no route says it: unknown paths, and webhooks, which their routes count themselves."""


class UncountedClasses:
    """Which quota a request that was not counted would have counted against; None: it has none, as probes."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes = [route for route in routes if isinstance(route, GuardedRoute)]

    def of(self, scope: Scope) -> RateClass | None:
        path: str = scope["path"]
        known = [route for route in self._routes if route.may_serve(path) and route.path_regex.match(path)]
        same_method = [route for route in known if scope["method"] in (route.methods or ())]
        for route in [*same_method, *known][:1]:
            if route.access.rate_class is not None:
                return route.access.rate_class
        return next((rate_class for prefix, rate_class in _BY_PREFIX if path.startswith(prefix)), None)
