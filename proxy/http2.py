"""The client's side of HTTP/2, with back pressure: what the client does not take is not fetched either. The time that a
head takes is known, and what frames cost that ask for nothing is bounded.

mitmproxy keeps without a bound what HTTP/2's flow control (RFC 9113, 5.2) does not let it send, and reads on: one
agent with a window of zero had the gate take a download of 600 MB into memory. Extends internal classes of mitmproxy;
see ``proxy.layers``.
"""

from collections.abc import Callable, Collection
from time import monotonic
from typing import Final

from h2 import events as h2_events
from h2.errors import ErrorCodes
from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http._http2 import Http2Server

from addons.verdict import client_state
from proxy.commands import Commands
from proxy.frame_allowance import FrameAllowance, cost_of

_PREFACE_BYTES: Final = 24
_FRAME_HEADER_BYTES: Final = 9
_FRAME_TYPE_AT: Final = 3
_HEADS: Final = frozenset((0x1, 0x9))  # HEADERS, CONTINUATION (RFC 9113, 6)

HELD_BACK_MAX: Final = 2 << 20
"""Bytes of responses that wait for one client to take them, before the servers that they come from must wait."""

_CHUNK_COST: Final = 256
"""What keeping a chunk costs beside its bytes: a server may send one byte at a time."""


class GateHttp2Server(Http2Server):
    """Says, after each event, of which streams no more is to be fetched for now."""

    def __init__(self, context: Context, throttle: Callable[[Collection[int]], None]) -> None:
        super().__init__(context)
        self._throttle = throttle
        self._client = client_state(context.client)
        self._incomplete: int | None = None
        self._allowance = FrameAllowance(monotonic())

    def handle_event(self, event: events.Event) -> Commands[None]:
        yield from super().handle_event(event)
        if isinstance(event, events.DataReceived):
            self._time_the_head()
        buffers = self.h2_conn.stream_buffers
        self._throttle(list(buffers) if buffers and self._is_too_much() else ())

    def handle_h2_event(self, event: h2_events.Event) -> CommandGenerator[bool]:
        """Ends the connection of who sends too many frames that ask for nothing."""
        if (cost := cost_of(event)) and not self._allowance.spend(cost, monotonic()):
            yield from self.protocol_error("too many frames that ask for nothing", ErrorCodes.ENHANCE_YOUR_CALM)
            return True
        return (yield from super().handle_h2_event(event))

    def _time_the_head(self) -> None:
        if not self._head_is_incomplete():
            self._client.head_since = self._incomplete = None
        elif self._incomplete != (latest := self.h2_conn.highest_inbound_stream_id):
            self._incomplete = latest
            self._client.head_since = monotonic()

    def _head_is_incomplete(self) -> bool:
        """Whether the connection preface, a frame's header, or a block of header fields has begun and not ended."""
        buffer = self.h2_conn.incoming_buffer
        if 0 < buffer._preamble_len < _PREFACE_BYTES or buffer._headers_buffer:
            return True
        begun = buffer._data
        return 0 < len(begun) < _FRAME_HEADER_BYTES or (len(begun) > _FRAME_TYPE_AT and begun[_FRAME_TYPE_AT] in _HEADS)

    def _is_too_much(self) -> bool:
        held_back = 0
        for chunks in self.h2_conn.stream_buffers.values():
            for chunk in chunks:
                held_back += len(chunk.data) + _CHUNK_COST
                if held_back > HELD_BACK_MAX:
                    return True
        return False
