"""GET /admin/progress/events: which background work has moved."""

from functools import cache
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import StreamingResponse

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.feeds.state_feed import StateChannel
from admin_api.guarded_route import GuardedRoute
from admin_api.live_stream import open_stream
from admin_api.principal import Principal
from admin_api.progress.works import WORKS
from headgate.agents.scopes import Scope, includes_scope

router = APIRouter(route_class=GuardedRoute, tags=["settings"])

_EVENT: Final = "progress"


@router.get("/admin/progress/events", response_class=StreamingResponse)
async def events(request: Request, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> StreamingResponse:
    """Streams which background work has moved, as server-sent events, at most once a second. The event ``progress``
    names the kinds in ``of``: ``replays`` of policies; with ``audit:read`` also ``reports`` and ``verification`` of the
    log; for administrators also ``deliveries`` of messages and ``siem`` (the lag of its destinations). Read them with
    their own routes. The first event names all kinds. The stream ends as in GET /v1/approvals/events.
    ``Last-Event-ID`` has no effect."""
    return await open_stream(request, principal, dependencies, _channel_for(principal), None, _channel_for)


def _channel_for(principal: Principal) -> StateChannel:
    return _channel(frozenset(one.scope for one in WORKS if includes_scope(principal.scopes, one.scope)))


@cache
def _channel(scopes: frozenset[Scope]) -> StateChannel:
    """One for each set of rights, so that its viewers share a poller."""
    return StateChannel(_EVENT, tuple((one.name, one.state) for one in WORKS if one.scope in scopes))
