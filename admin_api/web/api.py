"""Calls the API's route functions in this process, as the person who views the page.

So a page can do what the API can, and nothing else: the scope that ``admin_api.access`` asks for is checked before
each call. A page counts against its own rate class; the calls behind it do not count again.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from admin_api.chain_end import end_of_chain
from admin_api.dependencies import Dependencies, dependencies_of, principal_of
from admin_api.guarded_route import access_of_endpoint
from admin_api.principal import Principal
from headgate.agents.scopes import Scope, includes_scope, require_scope
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict


class Api(Struct, frozen=True):
    """One person's view of the API. ``place``: the end of the organization's audit chain before the page reads
    anything. The page shows every event up to it, so its streams begin there."""

    request: Request
    principal: Principal
    dependencies: Dependencies
    place: int

    async def call[**Given, Answer](
        self, endpoint: Callable[Given, Awaitable[Answer]], *given: Given.args, **named: Given.kwargs
    ) -> Answer:
        """Calls a route's function. Raises ForbiddenError (its scope), and the errors of the route."""
        access = access_of_endpoint(endpoint)
        if access.scope is not None and not access.or_owner:
            require_scope(self.principal.scopes, access.scope)
        return await endpoint(*given, **named)

    def sending(self, document: JsonValue) -> Request:
        """Returns this request with a document as its body, for a route that reads its body itself."""
        body = canonical_bytes(document)

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return Request(self.request.scope, receive)

    def may(self, scope: Scope) -> bool:
        """Whether the person has this scope."""
        return includes_scope(self.principal.scopes, scope)


def document_in(answer: Response) -> JsonObject:
    """Parses the JSON object of a route's response."""
    document = parse_strict(bytes(answer.body))
    return document if isinstance(document, dict) else {}


async def _api_of(request: Request) -> Api:
    principal, dependencies = principal_of(request), dependencies_of(request)
    place = await end_of_chain(dependencies.database, principal.org_id)
    return Api(request, principal, dependencies, place)


type CurrentApi = Annotated[Api, Depends(_api_of)]
