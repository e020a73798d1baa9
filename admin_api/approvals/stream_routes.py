"""GET /v1/approvals/events: the server-sent events of an organization's approvals."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Annotated, Final

from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from admin_api.access import access_of
from admin_api.approvals.event_stream import OpenStreams, start_of_stream, stream_events
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from headgate.agents.scopes import require_scope
from headgate.kernel.errors import ForbiddenError, UnauthorizedError, ValidationError

router = APIRouter(route_class=GuardedRoute, tags=["approvals"])

_SEQ_DIGITS_MAX: Final = 18
_streams: Final = OpenStreams()


class _CountedStream(StreamingResponse):
    """Gives its place back when it has ended, or is forgotten without having begun."""

    def __init__(self, body: AsyncIterator[bytes], place: ExitStack, headers: dict[str, str]) -> None:
        super().__init__(body, media_type="text/event-stream", headers=headers)
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            await super().__call__(scope, receive, send)


@router.get("/v1/approvals/events", response_class=StreamingResponse)
async def events(
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    last_event_id: Annotated[str | None, Header(max_length=64)] = None,
) -> StreamingResponse:
    """Everything that happens to approvals from now on, or from behind ``Last-Event-ID`` on. Comments keep a quiet
    stream alive; it ends after five minutes, or within seconds where who asked may not ask any more, and the client
    comes back with the last id that it has seen."""
    _streams.check(principal.org_id)
    seq = await start_of_stream(dependencies.database, principal.org_id, _seq(last_event_id))
    place = ExitStack()
    _streams.check(principal.org_id)  # others have come meanwhile; from here to the place nothing waits
    place.enter_context(_streams.one_more(principal.org_id))

    def is_stopping() -> bool:
        return bool(getattr(request.app.state, "is_stopping", False))

    async def may_go_on() -> bool:
        """The credential is still one, and carries what the route asks for."""
        access = access_of("GET", "/v1/approvals/events")
        try:
            now = await dependencies.authenticator.authenticate(request.scope["headers"], access)
            if access.scope is not None:
                require_scope(now.scopes, access.scope)
        except (UnauthorizedError, ForbiddenError):
            return False
        return now.org_id == principal.org_id

    # A client that goes away cancels it (StreamingResponse).
    body = stream_events(dependencies.database, principal.org_id, seq, is_stopping=is_stopping, may_go_on=may_go_on)
    # X-Accel-Buffering: a reverse proxy before us would otherwise keep events until it has a page of them.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return _CountedStream(body, place, headers)


def _seq(last_event_id: str | None) -> int | None:
    if not last_event_id:
        return None
    if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > _SEQ_DIGITS_MAX:
        raise ValidationError("not an id of this stream", details={"field": "Last-Event-ID"})
    return int(last_event_id)
