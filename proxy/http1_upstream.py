"""The destination's side of HTTP/1: the head of an answer is bounded.

mitmproxy keeps what comes before the end of a head without a bound (its source says so in a FIXME): one destination
could fill the memory of a process that serves many agents.
"""

from typing import Final

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers import http
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import ErrorCode, ResponseProtocolError
from mitmproxy.proxy.layers.http._http1 import Http1Client

HEAD_MAX_BYTES: Final = 256 << 10


class GateHttp1Client(Http1Client):
    """Ends an answer whose head does not end."""

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        yield from super().read_headers(event)
        if self.state == self.read_headers and len(self.buf) > HEAD_MAX_BYTES and self.stream_id is not None:
            message = f"the head of the answer is larger than {HEAD_MAX_BYTES} bytes"
            self.state = self.done
            self.buf = type(self.buf)()
            yield commands.CloseConnection(self.conn)
            yield ReceiveHttp(ResponseProtocolError(self.stream_id, message, ErrorCode.GENERIC_SERVER_ERROR))


def bound_answers() -> None:
    """For the whole process; before it serves."""
    http.Http1Client = GateHttp1Client  # type: ignore[attr-defined] # the name by which mitmproxy makes one
