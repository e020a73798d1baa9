"""The one kind of route there is: it knows who may call it before it knows what it does.

``APIRouter(route_class=GuardedRoute)``. The caller is authenticated, counted and checked for the scope of the
table before a byte of the body is read. An endpoint whose only parameter is the request is called as it is,
without FastAPI's dependency solving: that is for the hot path.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from functools import cached_property
from threading import RLock
from typing import Any, Final

from fastapi import params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import PARAM_REGEX, Match, compile_path, get_name
from starlette.types import Scope

from admin_api.access import Access, Audience, access_of
from admin_api.body_budget import charge_of
from admin_api.client_address import address_subject, client_address
from admin_api.dependencies import Dependencies, dependencies_of
from admin_api.metrics import FORBIDDEN, RATE_LIMITED
from admin_api.request_state import request_state
from admin_api.services.cookies import require_own_page
from headgate.agents.scopes import require_scope
from headgate.db.connection_shares import urgent
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ForbiddenError, RateLimitedError, ValidationError
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.gcra import Quota
from headgate.ratelimits.headers import rate_limit_headers, require_allowed

type Endpoint = Callable[[Request], Awaitable[Response]]
type Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_IMPLIED_METHODS: Final = frozenset({"HEAD"})
_DESCRIBED_BODIES: Final = frozenset({"POST", "PATCH", "DELETE"})
_OF_PATH: Final = ("path_regex", "param_convertors")
_MOST_NAME_CHARACTERS: Final = 64
_BY_ENDPOINT: Final[dict[Callable[..., Any], Access]] = {}
_DERIVING: Final = RLock()


class StrictRequest(Request):
    """A request whose JSON is read in the only way it can be read: duplicate keys, lone surrogates and
    non-finite numbers are refused."""

    async def json(self) -> Any:
        """Raises ValidationError."""
        return parse_strict(await self.body())


class GuardedRoute(APIRoute):
    """Raises LookupError when it is declared without its place in the table.

    Declared, it has what tells routes apart: path, methods, access. The rest (parameters, models, the handler) the
    framework derives when something first asks for it: for all routes at once it took two seconds of a start, and most
    are not called for days. The pattern of the path is compiled when a request's path first begins with its fixed
    part. A test derives all of them.

    ``plain_handler``: the guarded endpoint, where that takes the request as it is (``direct_dispatch``).
    """

    plain_handler: Handler | None
    access: Access

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self._options = options
        self.path, self.endpoint = path, endpoint
        self.path_format = PARAM_REGEX.sub(r"{\1}", path)
        self._beginning = path.partition("{")[0]
        self.methods = {method.upper() for method in options["methods"]}
        self.name = options.get("name") or get_name(endpoint)
        self.include_in_schema = options.get("include_in_schema", True)
        (method,) = self.methods - _IMPLIED_METHODS
        self.access = access_of(method, self.path_format)
        self._method = method
        _BY_ENDPOINT.setdefault(endpoint, self.access)
        self.plain_handler = self._guard(endpoint) if _is_plain(endpoint) else None

    def may_serve(self, path: str) -> bool:
        """Whether ``path`` begins with the fixed part of this route's path, before its first parameter."""
        return path.startswith(self._beginning)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if not self.may_serve(scope["path"]):
            return Match.NONE, {}
        return super().matches(scope)

    def __getattr__(self, name: str) -> Any:
        """Of what is not there yet: derives it. Raises AttributeError."""
        if name in _OF_PATH:
            self.path_regex, _, self.param_convertors = compile_path(self.path)
            return self.__dict__[name]
        with _DERIVING:
            if (options := self.__dict__.pop("_options", None)) is not None:
                try:
                    super().__init__(self.path, self.endpoint, **options)
                except BaseException:
                    self._options = options  # the next request tries again
                    raise
            try:
                return self.__dict__[name]
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no attribute {name}") from None

    def get_route_handler(self) -> Handler:
        return self.plain_handler or self._guard(super().get_route_handler())

    def _guard(self, endpoint: Endpoint) -> Handler:
        route, access = self.path_format, self.access

        async def guarded(request: Request) -> Response:
            request_state(request.scope).route = route
            with urgent() if access.is_urgent else nullcontext():
                return await answer(request)

        async def answer(request: Request) -> Response:
            if access.audience is not Audience.PUBLIC:
                await _admit(request, access, dependencies_of(request))
            elif access.rate_class is not None:
                await _count(request, access.rate_class, address_subject(request.scope), None)
            if request.scope["query_string"]:
                _require_storable(request)
                if self._queries is not None:
                    _require_known(request, self._queries)
                _require_short(request, self._bounds)
            strict = StrictRequest(request.scope, request.receive)
            if self._takes_no_body:
                await _require_no_body(strict)
            response = await endpoint(strict)
            return _head_of(response) if request_state(request.scope).is_head else response

        return guarded

    @cached_property
    def _queries(self) -> tuple[str, ...] | None:
        return _query_names(self)

    @cached_property
    def _bounds(self) -> Mapping[str, int]:
        return _query_bounds(self)

    @cached_property
    def _takes_no_body(self) -> bool:
        """Forms of pages and messages of other services are read by routes that do not describe them, and so is every
        document that is put."""
        is_described = self.include_in_schema and self.access.audience is not Audience.PUBLIC
        if not is_described or self._method not in _DESCRIBED_BODIES:
            return False
        return self.body_field is None and "requestBody" not in (self.openapi_extra or {})


def access_of_endpoint(endpoint: Callable[..., Any]) -> Access:
    """What the route of this function asks of its caller. Raises LookupError: it is no route's."""
    return _BY_ENDPOINT[endpoint]


async def _admit(request: Request, access: Access, dependencies: Dependencies) -> None:
    """Raises UnauthorizedError, RateLimitedError, ForbiddenError, UnavailableError."""
    state = request_state(request.scope)
    principal = await dependencies.authenticator.authenticate(request.scope["headers"], access)
    principal = replace(principal, address=client_address(request.scope))
    state.principal = principal
    if (charge := charge_of(request.scope)) is not None:
        charge.is_of(principal.org_id)
    if principal.session_id is not None:
        require_own_page(request)
    if access.rate_class is not None:
        await _count(request, access.rate_class, principal.rate_subject, principal.own_quota)
    if access.scope is not None and not (access.webhook_keys and principal.is_webhook_key):
        try:
            require_scope(principal.scopes, access.scope)
        except ForbiddenError:
            if access.or_owner and principal.key is None:
                return
            FORBIDDEN.labels(access.scope).inc()
            raise


async def _count(request: Request, rate_class: RateClass, subject: str, quota: Quota | None) -> None:
    """Raises RateLimitedError; whatever is answered tells the sender's quota."""
    verdict = await dependencies_of(request).rate_limiter.check(rate_class, subject, quota)
    if verdict is None:
        return
    request_state(request.scope).headers = rate_limit_headers(verdict)
    try:
        require_allowed(verdict)
    except RateLimitedError:
        RATE_LIMITED.labels(rate_class).inc()
        raise


def _require_storable(request: Request) -> None:
    """NUL is no text for PostgreSQL, which would look like a database that is away. Raises ValidationError."""
    if b"%00" in request.scope["query_string"] or b"\0" in request.scope["query_string"]:
        raise ValidationError("the query contains a NUL character")


def _query_names(route: APIRoute) -> tuple[str, ...] | None:
    """What may stand in the query. None: anything may, as a parameter of the description says that is an object of
    further ones; such answers come from others, who add to them (RFC 6749, section 4.1.2)."""
    declared = (route.openapi_extra or {}).get("parameters", [])
    if any(one["schema"].get("additionalProperties") for one in declared):
        return None
    read = [one.alias for one in get_flat_params(route.dependant) if isinstance(one.field_info, params.Query)]
    return (*read, *(one["name"] for one in declared if one["in"] == "query"))


def _require_known(request: Request, names: tuple[str, ...]) -> None:
    """A parameter that is ignored would answer something else than was asked. Raises ValidationError."""
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        shown = name[:_MOST_NAME_CHARACTERS]
        if name not in names:
            known = f"it has {', '.join(names)}" if names else "it has none"
            raise ValidationError(
                f"{shown}: unknown query parameter of this route; {known}",
                details={"field": shown, "reason": "unknown query parameter"},
            )
        if given.count(name) > 1:
            raise ValidationError(
                f"{shown}: given {given.count(name)} times; give it once",
                details={"field": shown, "reason": "repeated query parameter"},
            )


async def _require_no_body(request: StrictRequest) -> None:
    """A draft that is ignored would look as if it had been tested. Some clients send an empty object every time. Raises
    ValidationError."""
    body = await request.json() if (await request.body()).strip() else None
    if body is None or body == {}:
        return
    field = next(iter(body))[:_MOST_NAME_CHARACTERS] if isinstance(body, dict) else "body"
    raise ValidationError(
        f"{field}: this route takes no body; send none, or an empty object",
        details={"field": field, "reason": "no body expected"},
    )


def _query_bounds(route: APIRoute) -> Mapping[str, int]:
    """The most characters of each parameter that the route reads itself; the framework checks the others."""
    declared = (route.openapi_extra or {}).get("parameters", [])
    return {one["name"]: one["schema"]["maxLength"] for one in declared if "maxLength" in one["schema"]}


def _require_short(request: Request, bounds: Mapping[str, int]) -> None:
    """Raises ValidationError."""
    for name, value in request.query_params.multi_items() if bounds else ():
        if len(value) > bounds.get(name, len(value)):
            raise ValidationError(
                f"{name}: at most {bounds[name]} characters", details={"field": name, "reason": "too long"}
            )


def _head_of(response: Response) -> Response:
    """The status and the fields of an answer to GET, whose content is never begun (RFC 9110, section 9.3.2)."""
    head = Response(status_code=response.status_code, background=response.background)
    head.raw_headers = response.raw_headers
    return head


def _is_plain(endpoint: Callable[..., Any]) -> bool:
    # Reading all signatures is slow, and most endpoints take no request.
    if Request not in endpoint.__annotations__.values():
        return False
    parameters = list(inspect.signature(endpoint).parameters.values())
    return len(parameters) == 1 and parameters[0].annotation is Request
