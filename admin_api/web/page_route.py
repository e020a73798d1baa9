"""The route class of pages: compresses them, shows errors as pages, and redirects a person without a session to the
sign-in page."""

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import urlencode

from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import Response

from admin_api.compression import compressed
from admin_api.errors import field_name, reason_of
from admin_api.guarded_route import GuardedRoute
from admin_api.pages import page, see_other
from headgate.kernel.errors import HeadgateError, UnauthorizedError

_SAFE_METHODS = frozenset({"GET", "HEAD"})


class PageRoute(GuardedRoute):
    """``APIRouter(route_class=PageRoute, include_in_schema=False)``. A defect stays one: the log has its cause."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        guarded = super().get_route_handler()

        async def shown(request: Request) -> Response:
            if (whole := _without_blanks(request)) is not None:
                return see_other(whole)
            try:
                return await compressed(request, await guarded(request))
            except UnauthorizedError:
                return _sign_in(request)
            except HeadgateError as error:
                return _refused(request, error.message, status=error.http_status)
            except RequestValidationError as error:
                return _refused(request, _problem(error), status=404)

        return shown


def _refused(request: Request, message: str, *, status: int) -> Response:
    """With a way back to the list whose filters were refused."""
    back = request.url.path if request.method in _SAFE_METHODS and request.url.query else "/"
    return page("error.html", {"message": message, "back": back}, status=status)


def _without_blanks(request: Request) -> str | None:
    """The address without the fields that a form of filters sends empty; None: it has none."""
    pairs = request.query_params.multi_items()
    if request.method not in _SAFE_METHODS or all(value for _, value in pairs):
        return None
    query = urlencode([(name, value) for name, value in pairs if value])
    return f"{request.url.path}?{query}" if query else request.url.path


def _sign_in(request: Request) -> Response:
    """To the sign-in page, and back to this one afterwards. A form is not repeated: its page is shown again."""
    back = request.url.path
    if request.method in _SAFE_METHODS and request.url.query:
        back += f"?{request.url.query}"
    return see_other("/auth/login?" + urlencode({"return_to": back}))


def _problem(error: RequestValidationError) -> str:
    first = error.errors()[0]
    return f"{field_name(first['loc'])}: {reason_of(first)}"
