"""The type of what mitmproxy's layers are made of, and the one command that is the gate's own."""

from mitmproxy.proxy import commands, layer

type Commands[T] = layer.CommandGenerator[T]
"""A generator that yields commands, is sent their replies, of any type, and returns T."""


class TunnelOpened(commands.Command):
    """CONNECT has been answered with 2xx: whatever comes on this connection from now on is ``inner``'s."""

    def __init__(self, inner: layer.Layer) -> None:
        self.inner = inner
