"""Bytes that were forwarded, and wait because the server does not take them (RFC 9113: flow control, 5.2, and the limit
of streams, 5.1.2).

mitmproxy keeps them without a bound. A destination with a window of zero could fill the memory of a process that serves
many agents. To a server of HTTP/1 nothing waits here: mitmproxy then reads no more from the client.
Reads an internal class of mitmproxy; see ``proxy.layers``.
"""

from typing import Final

from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http._events import RequestData
from mitmproxy.proxy.layers.http._http2 import Http2Client

_PIECE_COST: Final = 256
"""Of memory, for each piece beside its bytes: a message may be one byte."""


def unsent_bytes(connection: Layer | None, stream_id: int) -> int:
    """Of one stream. ``connection``: the outermost layer of its server's side."""
    while not isinstance(connection, Http2Client):
        if connection is None:
            return 0
        connection = getattr(connection, "child_layer", None)
    queued = [one.data for one in connection.stream_queue.get(stream_id, ()) if isinstance(one, RequestData)]
    ours = connection.our_stream_id.get(stream_id, 0)
    queued += [piece.data for piece in connection.h2_conn.stream_buffers.get(ours, ())]
    return sum(map(len, queued)) + _PIECE_COST * len(queued)
