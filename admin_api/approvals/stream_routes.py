"""GET /v1/approvals/events: the server-sent events of an organization's approvals."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import StreamingResponse

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.feeds.feed import Channel
from admin_api.feeds.frames import Frame, frame
from admin_api.guarded_route import GuardedRoute
from admin_api.live_stream import After, open_stream
from headgate.audit.feed_store import FeedEvent
from headgate.audit.model import Actor, EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339

router = APIRouter(route_class=GuardedRoute, tags=["approvals"])


@router.get("/v1/approvals/events", response_class=StreamingResponse)
async def events(
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    last_event_id: Annotated[str | None, Header(max_length=64)] = None,
    after: After = None,
) -> StreamingResponse:
    """Streams approval events from now on, or after ``Last-Event-ID``, as server-sent events. Comments keep a quiet
    stream alive. The stream ends after five minutes, or within seconds if the caller loses the right to read it; the
    client reconnects with the last id that it received. ``feed.ended`` names the reason of an earlier end. ``after`` is
    for a client that cannot set a header: the stream begins after this id, unless there is a ``Last-Event-ID``."""
    return await open_stream(request, principal, dependencies, APPROVALS, last_event_id, after=after)


async def _frames(connection: Connection, org_id: str, found: Sequence[FeedEvent]) -> Sequence[Frame]:
    return [frame(one.seq, one.event_type, one.agent_id, _body(one)) for one in found]


def _body(event: FeedEvent) -> JsonObject:
    return {
        "event": event.event_type,
        "at": rfc3339(event.created_at),
        "approval_id": event.data.get("approval_id"),
        "action_id": event.action_id,
        "agent_id": event.agent_id,
        # Where somebody works from is for those who read the record.
        "actor": _actor(event.actor),
        "data": event.data,
    }


def _actor(actor: Actor | None) -> JsonObject:
    if actor is None:
        return {}
    named: JsonObject = {} if actor.name is None else {"name": actor.name}
    return {"id": actor.id, "type": actor.type.value, **named}


APPROVALS: Final = Channel(tuple(one for one in EventType if one.value.startswith("approval.")), _frames)
