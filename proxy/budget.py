"""How many bytes of request bodies one process holds, over all of its clients."""

from addons.metrics import BUFFERED_REQUEST_BYTES
from addons.verdict import ClientState


class BufferBudget:
    """Counts on arrival and until the request has ended, so that held requests count too.

    Counting what has arrived, rather than what is announced, keeps a client that announces much and sends
    nothing from using up the budget of the others.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0

    def reserve(self, client: ClientState, size: int) -> bool:
        """Whether there was room; False reserves nothing."""
        if self.used_bytes + size > self.limit_bytes:
            return False
        self.used_bytes += size
        client.buffered_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        BUFFERED_REQUEST_BYTES.inc(size)
        return True

    def release(self, client: ClientState, size: int) -> None:
        self.used_bytes -= size
        client.buffered_bytes -= size
        BUFFERED_REQUEST_BYTES.dec(size)

    def release_all(self, client: ClientState) -> None:
        """At the end of a connection: whatever its requests still held."""
        self.release(client, client.buffered_bytes)
