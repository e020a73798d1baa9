"""The destination's side of HTTP/1: the head of an answer is bounded, is the final one, and has one reading.

mitmproxy keeps what comes before the end of a head without a bound (its source says so in a FIXME): one destination
could fill the memory of a process that serves many agents. It takes an interim answer (RFC 9110, section 15.2) for the
final one, and the agent would wait for ever for what comes after: they are left out, since no policy looks at them and
the gate itself answers ``Expect: 100-continue``. A CR by itself ends a line for some readers, a NUL a text (RFC 9112,
section 2.2; RFC 9110, section 5.5): an answer with one in its head is refused.
"""

from http import HTTPStatus
from typing import Final

from mitmproxy.http import Response
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers import http
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import ErrorCode, ResponseHeaders, ResponseProtocolError
from mitmproxy.proxy.layers.http._http1 import Http1Client

HEAD_MAX_BYTES: Final = 256 << 10
INTERIM_MAX: Final = 100
"""Interim answers to one request: a destination that sends nothing else would keep it open for ever."""


class GateHttp1Client(Http1Client):
    """Ends an answer whose head does not end, or has two readings; leaves interim ones out."""

    _interim = 0

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        is_final = False
        while not is_final:
            is_final = True
            for command in super().read_headers(event):
                if isinstance(command, ReceiveHttp) and isinstance(command.event, ResponseHeaders):
                    response = command.event.response
                    if _is_interim(response) and self._interim < INTERIM_MAX:
                        self._interim += 1
                        self.response = None
                        is_final = False
                        break
                    if _is_interim(response) or _has_two_readings(response):
                        yield from self._end("the head of the answer has no one reading")
                        return
                    self._interim = 0
                yield command
        if self.state == self.read_headers and len(self.buf) > HEAD_MAX_BYTES:
            yield from self._end(f"the head of the answer is larger than {HEAD_MAX_BYTES} bytes")

    def _end(self, message: str) -> layer.CommandGenerator[None]:
        if self.stream_id is None:
            return
        self.state = self.done
        self.buf = type(self.buf)()
        yield commands.CloseConnection(self.conn)
        yield ReceiveHttp(ResponseProtocolError(self.stream_id, message, ErrorCode.GENERIC_SERVER_ERROR))


def _is_interim(response: Response) -> bool:
    """101 is final: the connection is another protocol's from there on."""
    return 100 <= response.status_code < 200 and response.status_code != HTTPStatus.SWITCHING_PROTOCOLS


def _has_two_readings(response: Response) -> bool:
    head = response.data
    return _is_ambiguous(head.reason) or any(_is_ambiguous(name + value) for name, value in head.headers.fields)


def _is_ambiguous(text: bytes) -> bool:
    return b"\r" in text or b"\0" in text


def bound_answers() -> None:
    """For the whole process; before it serves."""
    http.Http1Client = GateHttp1Client  # type: ignore[attr-defined] # the name by which mitmproxy makes one
