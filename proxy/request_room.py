"""The memory that one request takes: its body, and what arrives while one of its hooks waits."""

from typing import TYPE_CHECKING, Final

from mitmproxy.proxy import events
from mitmproxy.proxy.layers.http._events import RequestData, RequestProtocolError

from addons.limits import body_too_large
from addons.memory_charge import no_room
from addons.verdict import client_state
from headgate.kernel.errors import HeadgateError
from proxy.budget import BufferBudget
from proxy.event_queue import EventQueue

if TYPE_CHECKING:
    from proxy.stream import GateStream

_JOINED_BYTES_MAX: Final = 4096
"""Smaller pieces that follow one another become one. An event takes 120 bytes, which nobody counts: a hundred thousand
frames of one byte each, sent while a call is held, would take twelve megabytes."""


class RequestRoom(EventQueue):
    """In place of mitmproxy's queue of what arrives while a hook waits. Counts the bytes of the request, those in the
    queue too, and looks for the client's leaving."""

    __slots__ = ("_body_limit", "_budget", "_size_bytes", "_stream", "overflow")

    def __init__(self, stream: "GateStream", body_limit: int, budget: BufferBudget) -> None:
        super().__init__()
        self._stream = stream
        self._body_limit = body_limit
        self._budget = budget
        self._size_bytes = 0
        self.overflow: HeadgateError | None = None
        """Why bytes were dropped that came during a hook, or while the server was connected: the request is refused
        after that."""

    def append(self, event: events.Event) -> None:
        if isinstance(event, RequestData):
            if self.overflow is None:
                self.overflow = self._admit(self._size_bytes + len(event.data))
            if self.overflow is not None:
                return
            newest = self.newest()
            if isinstance(newest, RequestData) and len(newest.data) + len(event.data) <= _JOINED_BYTES_MAX:
                newest.data += event.data
                return
        super().append(event)
        if isinstance(event, RequestProtocolError):
            self._stream.left_while_paused()

    def admit(self, size: int) -> HeadgateError | None:
        """Counts ``size`` bytes of the request as held; or why that is too much."""
        # What arrived while a hook waited is counted already.
        return self._admit(size) if size > self._size_bytes else None

    def release(self, size: int) -> None:
        """Counts so many bytes less."""
        self._budget.release(client_state(self._stream.context.client), size)
        self._size_bytes -= size

    def release_all(self) -> None:
        if self._size_bytes:
            self.release(self._size_bytes)

    def _admit(self, size: int) -> HeadgateError | None:
        if size > self._body_limit:
            return body_too_large(self._body_limit)
        if not self._budget.reserve(client_state(self._stream.context.client), size - self._size_bytes):
            return no_room()
        self._size_bytes = size
        self._stream.watch()
        return None
