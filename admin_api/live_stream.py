"""The stream of one viewer: what it missed, then what its feed hands it, until it ends.

``id`` is the event's place in the organization's chain, so that a client that comes back with ``Last-Event-ID`` misses
nothing and sees nothing twice. Valkey is not needed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import Annotated, Final

from fastapi import Query
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from admin_api.access import access_of
from admin_api.dependencies import Dependencies
from admin_api.feeds.feed import AnyChannel, Feeds
from admin_api.feeds.frames import HEARTBEAT, ending, opening
from admin_api.feeds.viewers import Viewer
from admin_api.principal import Principal
from headgate.agents.scopes import require_scope
from headgate.kernel.errors import ForbiddenError, UnauthorizedError, UnavailableError, ValidationError

_HEARTBEAT_SECONDS: Final = 15.0
_LIFETIME_SECONDS: Final = 300.0
"""Then the client comes back."""
_ASK_AGAIN_SECONDS: Final = 5.0
"""How long somebody goes on seeing events who may not see them any more."""
_PIECE_BYTES: Final = 64 << 10
"""Of a batch, at once: a client that reads slowly has no more than this, and what its connection holds, in memory."""
_SEQ_DIGITS_MAX: Final = 18
type After = Annotated[int | None, Query(ge=0, lt=10**_SEQ_DIGITS_MAX)]
"""The place from which a browser reads. Its ``EventSource`` sends ``Last-Event-ID`` only when it reconnects."""
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""X-Accel-Buffering: a reverse proxy before us would otherwise keep events until it has a page of them."""


class _ViewerStream(StreamingResponse):
    """Gives its place back when it has ended, or is forgotten without having begun."""

    def __init__(self, body: AsyncIterator[bytes], place: ExitStack, viewer: Viewer) -> None:
        super().__init__(body, media_type="text/event-stream", headers=_HEADERS)
        self._place = place
        self._viewer = viewer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            try:
                async with asyncio.timeout(2 * _LIFETIME_SECONDS) as self._viewer.time_limit:
                    await super().__call__(scope, receive, send)
            except TimeoutError:
                return  # it reads too slowly: uvicorn closes the connection of an answer without an end


async def open_stream(
    request: Request,
    principal: Principal,
    dependencies: Dependencies,
    channel: AnyChannel,
    last_event_id: str | None,
    channel_for: Callable[[Principal], AnyChannel] | None = None,
    *,
    after: int | None = None,
) -> StreamingResponse:
    """``channel_for``: returns the channel of a credential. The stream ends when the caller's channel changes.
    ``after``: the place of a client that has no ``Last-Event-ID`` yet.

    Raises RateLimitedError, UnavailableError and ValidationError."""
    feeds, org_id = dependencies.feeds, principal.org_id
    person = principal.agent_id or principal.user_id or principal.key_id or org_id
    feeds.places.check(org_id, person)
    seen = _seq(last_event_id)
    seq, newest = await feeds.start(org_id, channel, after if seen is None else seen)
    place = ExitStack()
    feeds.places.check(org_id, person)  # others have come meanwhile; from here to the place nothing waits
    place.enter_context(feeds.places.one_more(org_id, person))
    viewer = Viewer(seq, principal.agent_id)
    behind = place.enter_context(feeds.joined(org_id, channel, viewer, newest))

    async def may_go_on() -> bool:
        """The credential is still one, and carries what the route asks for."""
        access = access_of("GET", request.url.path)
        try:
            now = await dependencies.authenticator.authenticate(request.scope["headers"], access)
            if access.scope is not None:
                require_scope(now.scopes, access.scope)
        except (UnauthorizedError, ForbiddenError):
            return False
        is_same = channel_for is None or channel_for(now) == channel
        return is_same and (now.org_id, now.agent_id) == (org_id, principal.agent_id)

    # A client that goes away cancels it (StreamingResponse).
    body = _events(feeds, org_id, channel, viewer, behind, may_go_on)
    return _ViewerStream(body, place, viewer)


class _Standing:
    """Whether the viewer may still see events: asked before bytes are sent, if the last answer is too old."""

    def __init__(self, ask: Callable[[], Awaitable[bool]]) -> None:
        self._ask = ask
        self._loop = asyncio.get_running_loop()
        self._asked = self._loop.time()

    @property
    def seconds_left(self) -> float:
        """For which the last answer is believed."""
        return max(0.0, self._asked + _ASK_AGAIN_SECONDS - self._loop.time())

    async def holds(self) -> bool:
        """Raises UnavailableError."""
        if self.seconds_left:
            return True
        self._asked = self._loop.time()
        return await self._ask()


async def _events(
    feeds: Feeds,
    org_id: str,
    channel: AnyChannel,
    viewer: Viewer,
    behind: int,
    may_go_on: Callable[[], Awaitable[bool]],
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    began = spoke = loop.time()
    standing = _Standing(may_go_on)
    yield opening(viewer.seq)
    try:
        is_more = viewer.seq < behind
        while viewer.ended is None and loop.time() - began < _LIFETIME_SECONDS:
            if is_more:
                viewer.seq, batch, is_more = await feeds.catch_up(org_id, channel, viewer.seq, behind)
                found = b"" if batch is None else batch.after(0, viewer.agent_id)
            else:
                found = await viewer.next(standing.seconds_left)
            if not found and loop.time() - spoke >= _HEARTBEAT_SECONDS:
                found = HEARTBEAT
            if not await standing.holds():
                return
            for piece in _pieces(found):
                # Written to a slow client, a batch may take minutes.
                if not await standing.holds():
                    return
                yield piece
                spoke = loop.time()
    except UnavailableError:
        viewer.end("unavailable")
    if viewer.ended is not None:
        yield ending(viewer.ended)


def _pieces(found: bytes) -> Iterator[bytes]:
    if len(found) <= _PIECE_BYTES:
        yield from (found,) if found else ()
        return
    for begin in range(0, len(found), _PIECE_BYTES):
        yield found[begin : begin + _PIECE_BYTES]


def _seq(last_event_id: str | None) -> int | None:
    if not last_event_id:
        return None
    if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > _SEQ_DIGITS_MAX:
        raise ValidationError("not an id of this stream", details={"field": "Last-Event-ID"})
    return int(last_event_id)
