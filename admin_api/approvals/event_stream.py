"""What happens to approvals, as it happens: server-sent events (WHATWG HTML, section 9.2), read from the chain.

``id`` is the event's place in the organization's chain, so that a client that comes back with ``Last-Event-ID`` misses
nothing and sees nothing twice. Between looks nothing is held; Valkey is not needed.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from headgate.audit.feed_store import FeedEvent, events_after, newest_seq
from headgate.audit.model import Actor, EventType
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import RateLimitedError, UnavailableError

TYPES: Final = tuple(one for one in EventType if one.value.startswith("approval."))
_LOOK_SECONDS: Final = 0.5
_HEARTBEAT_SECONDS: Final = 15.0
_LIFETIME_SECONDS: Final = 300.0
"""Then the client comes back."""
_ASK_AGAIN_SECONDS: Final = 5.0
"""How long somebody goes on seeing events who may not see them any more."""
_RECONNECT_MILLISECONDS: Final = 1_000
_EVENTS_AT_ONCE: Final = 200
_STREAMS_MAX: Final = 200
_STREAMS_OF_ONE_ORGANIZATION_MAX: Final = 50
_RETRY_AFTER_SECONDS: Final = 10


class OpenStreams:
    """How many there are in this process: each costs a look every half second."""

    def __init__(self, most: int = _STREAMS_MAX, most_of_one: int = _STREAMS_OF_ONE_ORGANIZATION_MAX) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_more(self, org_id: str) -> Iterator[None]:
        """For as long as the block runs."""
        self._open[org_id] += 1
        try:
            yield
        finally:
            self._open[org_id] -= 1
            if not self._open[org_id]:
                del self._open[org_id]

    def check(self, org_id: str) -> None:
        """Raises RateLimitedError."""
        if self._open.total() >= self._most or self._open[org_id] >= self._most_of_one:
            raise RateLimitedError(
                "Too many event streams are open. Close some, or poll with ?wait= instead.",
                details={"streams": self._open[org_id]},
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )


async def start_of_stream(database: Database, org_id: str, last_event_id: int | None) -> int:
    """Behind what the client has seen, or behind all that was before it came. Raises UnavailableError."""
    await apply_before_reading(database, org_id)
    async with database.transaction(org_id) as connection:
        newest = await newest_seq(connection, org_id)
    return newest if last_event_id is None else min(last_event_id, newest)


async def stream_events(
    database: Database,
    org_id: str,
    seq: int,
    *,
    is_stopping: Callable[[], bool],
    may_go_on: Callable[[], Awaitable[bool]],
) -> AsyncIterator[bytes]:
    """The stream's bytes from behind ``seq`` on, until its time is over, the process stops, or whoever asked may not
    see them any more."""
    loop = asyncio.get_running_loop()
    began = spoke = asked = loop.time()
    yield f"retry: {_RECONNECT_MILLISECONDS}\nid: {seq}\n: open\n\n".encode()
    while loop.time() - began < _LIFETIME_SECONDS and not is_stopping():
        try:
            if loop.time() - asked >= _ASK_AGAIN_SECONDS:
                asked = loop.time()
                if not await may_go_on():
                    return
            found = await _look(database, org_id, seq)
        except UnavailableError:
            # The database is away: the client keeps its place, and comes back to it.
            yield b": the database is out of reach\n\n"
            return
        for event in found:
            seq = event.seq
            yield _frame(event)
        if found:
            spoke = loop.time()
        elif loop.time() - spoke >= _HEARTBEAT_SECONDS:
            spoke = loop.time()
            yield b": still here\n\n"
        if len(found) < _EVENTS_AT_ONCE:
            await asyncio.sleep(_LOOK_SECONDS)


async def _look(database: Database, org_id: str, seq: int) -> list[FeedEvent]:
    await apply_before_reading(database, org_id)
    async with database.transaction(org_id) as connection:
        return await events_after(connection, org_id, seq, TYPES, _EVENTS_AT_ONCE)


def _actor(actor: Actor | None) -> JsonObject:
    if actor is None:
        return {}
    named: JsonObject = {} if actor.name is None else {"name": actor.name}
    return {"id": actor.id, "type": actor.type.value, **named}


def _frame(event: FeedEvent) -> bytes:
    body = {
        "event": event.event_type,
        "at": rfc3339(event.created_at),
        "approval_id": event.data.get("approval_id"),
        "action_id": event.action_id,
        "agent_id": event.agent_id,
        # Where somebody works from is for those who read the record.
        "actor": _actor(event.actor),
        "data": event.data,
    }
    # One line of ASCII: nothing that an agent wrote can end it or begin another field.
    return f"id: {event.seq}\nevent: {event.event_type}\ndata: {json.dumps(body)}\n\n".encode()
