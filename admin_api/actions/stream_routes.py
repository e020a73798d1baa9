"""GET /v1/actions/events: the organization's actions, as they are recorded, decided and carried out."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import StreamingResponse

from admin_api.actions.schemas import action_answer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.feeds.feed import Channel
from admin_api.feeds.frames import Frame, frame
from admin_api.guarded_route import GuardedRoute
from admin_api.live_stream import After, open_stream
from headgate.actions.store import actions_of
from headgate.audit.feed_store import FeedEvent
from headgate.audit.model import EventType
from headgate.db.database import Connection

router = APIRouter(route_class=GuardedRoute, tags=["actions"])

_TYPES: Final = (
    EventType.ACTION_SUBMITTED,
    EventType.DECISION_MADE,
    EventType.ACTION_RETRIED,
    EventType.ACTION_CANCELLED,
    EventType.APPROVAL_APPROVED,
    EventType.APPROVAL_DENIED,
    EventType.APPROVAL_EXPIRED,
    EventType.EXECUTION_STARTED,
    EventType.EXECUTION_COMPLETED,
    EventType.EXECUTION_FAILED,
    EventType.EXECUTION_RESCHEDULED,
    EventType.EXECUTION_RETRIED,
    EventType.EXECUTION_PROCESSED,
)
_SKIPS_BEHIND: Final = 1_000


@router.get("/v1/actions/events", response_class=StreamingResponse)
async def events(
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    last_event_id: Annotated[str | None, Header(max_length=64)] = None,
    after: After = None,
) -> StreamingResponse:
    """Streams changes of actions as server-sent events. Each event ``action`` holds one action in the shape of a row of
    GET /v1/actions with expand=all, without the result of its execution. It is sent when the action is recorded, and
    again after each change; changes within half a second are sent as one. ``actions.skipped`` replaces more than 1,000
    events: read the list instead. An agent key sees only the actions of its own agent. ``Last-Event-ID``,
    ``after`` and ``feed.ended`` work as in GET /v1/approvals/events."""
    return await open_stream(request, principal, dependencies, ACTIONS, last_event_id, after=after)


async def _frames(connection: Connection, org_id: str, found: Sequence[FeedEvent]) -> Sequence[Frame]:
    """One for each action, in the place of its last event."""
    last = {one.action_id: one.seq for one in found if one.action_id is not None}
    frames = []
    for action in await actions_of(connection, org_id, last):
        row = action_answer(action, "all")
        if row.execution is not None:
            row.execution.result = None
        frames.append(frame(last[action.action_id], "action", action.agent_id, row.model_dump(mode="json")))
    return sorted(frames, key=lambda one: one.seq)


def _skipped(seq: int) -> Frame:
    """Without a number: an agent's key does not learn how much the others do."""
    return frame(seq, "actions.skipped", None, {})


ACTIONS: Final = Channel(_TYPES, _frames, _SKIPS_BEHIND, _skipped)
