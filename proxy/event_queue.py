"""A queue for the events that a layer of mitmproxy keeps while it is paused.

Each of a connection's eleven layers has one, which is empty almost always. An empty ``deque`` takes 760 bytes, an empty
list 72. ``tests/unit/proxy/test_event_queue.py`` compares with what they stand for.
"""

from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer


class EventQueue(list[events.Event]):
    """The part of a ``deque`` that mitmproxy uses."""

    __slots__ = ()

    def popleft(self) -> events.Event:
        return self.pop(0)


def use_event_queues() -> None:
    """For the whole process; before it serves."""
    Layer.__init__ = _init  # type: ignore[method-assign] # the point of this file


def _init(self: Layer, context: Context) -> None:
    """``Layer.__init__``, without the debug output that no option of the gate turns on."""
    self.context = context
    context.layers.append(self)
    self._paused = None
    self._paused_event_queue = EventQueue()  # type: ignore[assignment] # declared as a deque
