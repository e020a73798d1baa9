"""Around every request: its id, the limit of its body, the last catch of errors, security headers, log, metrics.

Plain ASGI: Starlette's BaseHTTPMiddleware runs each request in tasks of its own, which costs more than all of
this together.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from http import HTTPStatus
from typing import Final

import structlog
from prometheus_client import Counter, Histogram
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from admin_api.arrival_shares import ArrivalShares
from admin_api.body_budget import charge_of
from admin_api.body_limit import limit_body
from admin_api.client_address import address_subject
from admin_api.errors import DEFECT, details_of, encoded_error, error_headers
from admin_api.metrics import REQUEST_SECONDS, REQUESTS
from admin_api.request_state import RequestState, attach, new_request_state
from admin_api.unheard_proxy import UnheardProxy
from headgate.kernel.errors import ErrorCode, HeadgateError

_log = structlog.get_logger(__name__)

# An API that answers JSON needs no content of its own: nothing of an answer may be run, framed or kept.
_SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
# A method is the client's text: what is not one of these is counted as one.
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


type QuotaHeaders = Callable[[Scope], list[tuple[bytes, bytes]]]


class RequestContext:
    """The outermost layer of the application. ``quota_headers``: of a refusal whose sender was never counted."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_limit_bytes: int,
        shares: ArrivalShares,
        unheard: UnheardProxy,
        quota_headers: QuotaHeaders,
        public_url: str | None,
    ) -> None:
        self._public_url = public_url
        self._app = app
        self._quota_headers = quota_headers
        self._shares = shares
        self._unheard = unheard
        self._body_limit_bytes = body_limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = new_request_state()
        state.public_url = self._public_url
        attach(scope, state)
        self._unheard.look(scope)
        through_proxy = self._shares.trusted_proxies.locate(scope)
        charge = charge_of(scope)
        started = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status >= HTTPStatus.BAD_REQUEST and not state.headers:
                    state.headers = self._quota_headers(scope)
                message["headers"] = _complete(message["headers"], state)
            await send(message)

        try:
            with ExitStack() as place:
                if through_proxy:
                    address = address_subject(scope)
                    place.enter_context(self._shares.places.request_from(address))
                    if charge is not None:
                        charge.is_from(address)
                await self._app(scope, limit_body(scope, receive, self._body_limit_bytes), send_with_headers)
        except HeadgateError as error:
            await _answer(error, state, send_with_headers, answered=status != 0)
        except ClientDisconnect:
            pass  # in the middle of its body: nobody is there for an answer
        except Exception as error:  # noqa: BLE001 - the last catch: nothing of it reaches the caller
            _log.exception("request_failed", request_id=state.request_id, route=state.route, error=type(error).__name__)
            await _answer(HeadgateError(""), state, send_with_headers, answered=status != 0)
        finally:
            if charge is not None:
                charge.release()
            _account(scope, state, status, time.perf_counter() - started)


def _complete(headers: list[tuple[bytes, bytes]], state: RequestState) -> list[tuple[bytes, bytes]]:
    present = {name for name, _ in headers}
    return [
        *headers,
        (b"x-request-id", state.request_id.encode()),
        *(header for header in state.headers if header[0] not in present),
        *(header for header in _SECURITY_HEADERS if header[0] not in present),
    ]


async def _answer(error: HeadgateError, state: RequestState, send: Send, *, answered: bool) -> None:
    """Too late where the answer has begun: the connection then ends without its end, which a client sees."""
    if answered:
        return
    message = error.message
    if error.code is ErrorCode.INTERNAL_ERROR:
        message = DEFECT
    body = encoded_error(error.code, message, request_id=state.request_id, details=details_of(error, state))
    headers = [(name.lower().encode(), value.encode()) for name, value in error_headers(error).items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": error.http_status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _account(scope: Scope, state: RequestState, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in _METHODS else "OTHER"
    # 499, as nginx logs it: the client went away before there was an answer.
    requests, request_seconds = _counters(method, state.route, status or 499)
    requests.inc()
    request_seconds.observe(seconds)
    principal = state.principal
    _log.info(
        "request",
        request_id=state.request_id,
        method=method,
        route=state.route,
        status=status or 499,
        duration_ms=round(seconds * 1000, 3),
        org_id=None if principal is None else principal.org_id,
        key_id=None if principal is None else principal.key_id,
        user_id=None if principal is None else principal.user_id,
    )


@lru_cache(maxsize=4096)
def _counters(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    """Looking a metric up by its labels costs more than counting."""
    return REQUESTS.labels(method, route, status), REQUEST_SECONDS.labels(method, route)
