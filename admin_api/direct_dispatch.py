"""From the request line to the resource: its methods, and the short way to plain endpoints.

A route whose path has no parameters and whose endpoint takes the request as it is (``guarded_route``) needs none of
what routing, dependency solving and exit stacks do, which is half of the time that POST /v1/actions takes outside
of its own work. The same guarded handler runs either way; whatever is not in the table takes the long way.

Every resource answers OPTIONS, and HEAD wherever it answers GET (RFC 9110, section 9.1).
"""

from collections.abc import Iterable

from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from admin_api.guarded_route import GuardedRoute, StrictRequest
from admin_api.request_state import request_state
from admin_api.resources import HEAD, OPTIONS, PARAMETER, MethodNotAllowedError, Resource, Resources


class DirectDispatch:
    """Sits inside ``request_context``, which turns what is raised here into an answer."""

    def __init__(self, app: ASGIApp, *, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        routes = list(routes)
        self._resources = Resources(routes)
        self._handlers = {
            (method, route.path): route.plain_handler
            for route in routes
            if isinstance(route, GuardedRoute) and route.plain_handler is not None and PARAMETER not in route.path
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        handler = self._handlers.get((scope["method"], scope["path"]))
        if handler is not None:
            response = await handler(StrictRequest(scope, receive))
            await response(scope, receive, send)
            return
        resource = self._resources.at(scope["path"])
        if resource is None or scope["method"] in resource.methods:
            await self._app(scope, receive, send)
            return
        request_state(scope).route = resource.template
        await self._without_a_route(resource, scope, receive, send)

    async def _without_a_route(self, resource: Resource, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises MethodNotAllowedError."""
        if scope["method"] == OPTIONS:
            await Response(status_code=200, headers={"Allow": resource.allow})(scope, receive, send)
        elif scope["method"] == HEAD and "GET" in resource.methods:
            request_state(scope).is_head = True
            await self({**scope, "method": "GET"}, receive, send)
        else:
            raise MethodNotAllowedError(scope["method"], resource.allow)
