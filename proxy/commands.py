"""The type of the generators that mitmproxy's layers consist of, and the gate's own commands."""

import math
from collections.abc import Coroutine

from mitmproxy.proxy import commands, layer

type Commands[T] = layer.CommandGenerator[T]
"""A generator that yields commands, is sent their replies, of any type, and returns T."""


class TunnelOpened(commands.Command):
    """CONNECT has been answered with 2xx: whatever comes on this connection from now on is ``inner``'s."""

    def __init__(self, inner: layer.Layer) -> None:
        self.inner = inner


class Awaited(commands.RequestWakeup):
    """Something that the layer waits for without standing still: a ``Wakeup`` comes when it has ended, in whatever way.

    ``stops_reading``: no more is read from the client until then. A layer that has ended cancels nothing itself; the
    end of the connection does.
    """

    def __init__(self, coroutine: Coroutine[object, object, None], *, stops_reading: bool = False) -> None:
        super().__init__(delay=math.inf)
        self.coroutine = coroutine
        self.stops_reading = stops_reading
