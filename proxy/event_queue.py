"""A queue for the events that a layer of mitmproxy keeps while it is paused.

Each of a connection's eleven layers has one, which is empty almost always, and an empty ``deque`` takes 760 bytes.
``tests/unit/proxy/test_event_queue.py`` compares with what they stand for.
"""

from collections import deque
from collections.abc import Iterator

from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer


class EventQueue:
    """The part of a ``deque`` that mitmproxy uses. It has one only while it holds something. A list would take
    quadratic time for the hundred thousand small frames that a client can send while its call is held.
    """

    __slots__ = ("_events",)

    def __init__(self) -> None:
        self._events: deque[events.Event] | None = None

    def append(self, event: events.Event) -> None:
        if self._events is None:
            self._events = deque((event,))
        else:
            self._events.append(event)

    def popleft(self) -> events.Event:
        """Raises IndexError where there is nothing."""
        if self._events is None:
            raise IndexError("pop from an empty queue")
        event = self._events.popleft()
        if not self._events:
            self._events = None
        return event

    def newest(self) -> events.Event | None:
        return None if self._events is None else self._events[-1]

    def __bool__(self) -> bool:
        return self._events is not None

    def __iter__(self) -> Iterator[events.Event]:
        return iter(self._events or ())


def use_event_queues() -> None:
    """For the whole process; before it serves."""
    Layer.__init__ = _init  # type: ignore[method-assign] # the point of this file


def _init(self: Layer, context: Context) -> None:
    """``Layer.__init__``, without the debug output that no option of the gate turns on."""
    self.context = context
    context.layers.append(self)
    self._paused = None
    self._paused_event_queue = EventQueue()  # type: ignore[assignment] # declared as a deque
