"""The short way to plain endpoints: from the request line to the guard, past FastAPI's routing.

A route whose path has no parameters and whose endpoint takes the request as it is (``guarded_route``) needs none of
what routing, dependency solving and exit stacks do, which is half of the time that POST /v1/actions takes outside
of its own work. The same guarded handler runs either way; whatever is not in the table takes the long way.
"""

from collections.abc import Iterable

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from admin_api.guarded_route import GuardedRoute, StrictRequest


class DirectDispatch:
    """Sits inside ``request_context``, which turns what is raised here into an answer."""

    def __init__(self, app: ASGIApp, *, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._handlers = {
            (method, route.path): route.plain_handler
            for route in routes
            if isinstance(route, GuardedRoute) and route.plain_handler is not None and not route.param_convertors
            for method in route.answered_methods
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._handlers.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        response = await handler(StrictRequest(scope, receive))
        await response(scope, receive, send)
