"""What may arrive on a connection before anybody has said who they are, and how long an answer may stay unread:
bounded in bytes, in time, and in what one address may have of both.

uvicorn's parser keeps a head without a bound and copies all of it for each piece that arrives: one connection with a
header of 150 MB kept the API from answering for three minutes (measured). It waits for ever for a head that was begun,
and for a client that does not read its answer. It takes the fields of a trailer section for header fields, behind a
reverse proxy that has looked at those.

Extends ``HttpToolsProtocol``, which uvicorn's ``Config(http=…)`` allows, and stands on its callbacks.
"""

from asyncio import BaseTransport, TimerHandle, Transport
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, Final, cast

from fastapi import FastAPI
from msgspec import Struct
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from admin_api.arrival_shares import ArrivalShares
from admin_api.body_budget import BodyCharge, attach_charge, charge_of
from admin_api.errors import JSON, encoded_error, error_headers
from headgate.kernel.errors import HeadgateError, PayloadTooLargeError, UnavailableError, ValidationError

_FRAMING_FACTOR: Final = 8
"""Bytes that frame a body, for each of its bytes: five where every chunk holds one byte."""


class ArrivalLimits(Struct, frozen=True):
    """``head_bytes``: the request line and the fields. ``head_seconds``: from the connection, or
    the first byte of a later request, to the end of its head; ``body_seconds``: from there to the end of the body. A
    client whose answer waits takes at least ``read_bytes`` of it in each ``read_seconds``. ``turned_away_seconds``: for
    a connection that is not taken to say what it wants, and be told so. ``pipelined_max``: requests behind the one that
    is answered. A packet has thousands, each of which is kept, and the loop stands still while they are read."""

    head_bytes: int = 64 << 10
    head_seconds: float = 30.0
    body_seconds: float = 120.0
    read_bytes: int = 16 << 10
    read_seconds: float = 60.0
    turned_away_seconds: float = 5.0
    pipelined_max: int = 16


class BoundedProtocol(HttpToolsProtocol):
    """One client connection."""

    limits: ClassVar[ArrivalLimits] = ArrivalLimits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # handed on to uvicorn
        super().__init__(*args, **kwargs)
        self._in_head = False
        self._is_arriving = False
        self._unbodied_bytes = 0
        self._deadline: TimerHandle | None = None
        self._deadline_is_of_body = False
        self._reader_deadline: TimerHandle | None = None
        self._shares: ArrivalShares = cast("FastAPI", self.config.app).state.arrival_shares
        self._address: str | None = None
        self._refusal: UnavailableError | None = None
        self._leave: Callable[[], None] | None = None
        self._charge: BodyCharge | None = None
        self._served: RequestResponseCycle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(cast("Transport", transport))
        places = self._shares.places
        self._address = self._shares.trusted_proxies.address_of(self.client)
        self._refusal = places.refusal(self._address)
        if self._refusal is None:
            places.enter(self._address)
            self._leave = partial(places.leave, self._address)
            self._owe(of_body=False)
        elif places.turn_away():
            self._leave = places.turned_away
            self._deadline = self.loop.call_later(self.limits.turned_away_seconds, self.transport.abort)
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._owe_nothing()
        self._await_no_reader()
        if self._leave is not None:
            self._leave()
        for cycle, _ in self.pipeline:
            if (charge := charge_of(cast("Scope", cycle.scope))) is not None:
                charge.release()
        if self._served is not None:
            # uvicorn tells the newest request only, which may wait for this one.
            self._served.disconnected = True
            self._served.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._served = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        self._await_no_reader()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            # Not before: closing with bytes unread may take the answer from the client.
            self._refuse(self._refusal)
            return
        self._unbodied_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._owe_nothing()
        elif self._unbodied_bytes > self.limits.head_bytes:
            what = f"the head is larger than {self.limits.head_bytes} bytes"
            self._refuse(PayloadTooLargeError(what, details={"limit_bytes": self.limits.head_bytes}))
        elif self._is_arriving or not self._is_answering():
            # Empty lines before a request (RFC 9112, 2.2) are owed its head too.
            self._owe(of_body=self._is_arriving and not self._in_head)
        else:
            self._owe_nothing()

    def on_message_begin(self) -> None:
        self._in_head = self._is_arriving = True
        super().on_message_begin()
        self._charge = self._shares.bodies.charge_for(self._address)
        attach_charge(cast("Scope", self.scope), self._charge)

    def on_header(self, name: bytes, value: bytes) -> None:
        """What comes after the head is a trailer field: it may be ignored, and never merged (RFC 9110, 6.5.1)."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()
        if len(self.pipeline) > self.limits.pipelined_max:
            raise ValueError("too many pipelined requests")  # httptools reads no further, and tells send_400_response

    def on_body(self, body: bytes) -> None:
        self._unbodied_bytes -= (1 + _FRAMING_FACTOR) * len(body)
        kept = self._charge is None or self._charge.keeps(len(body))
        super().on_body(body if kept else b"")

    def on_message_complete(self) -> None:
        self._is_arriving = False
        self._unbodied_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """In the form of every other error, in place of uvicorn's text."""
        self._refuse(ValidationError("not an unambiguous HTTP/1.1 request"))

    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # uvicorn says that there always is one
        return cycle is not None and not cycle.response_complete

    def _owe(self, *, of_body: bool) -> None:
        """A deadline stands until what it is for has arrived, however many pieces come meanwhile."""
        if self._deadline is not None and self._deadline_is_of_body is of_body:
            return
        self._owe_nothing()
        self._deadline_is_of_body = of_body
        seconds = self.limits.body_seconds if of_body else self.limits.head_seconds
        self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _owe_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _await_reader(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._await_no_reader()
        self._reader_deadline = self.loop.call_later(self.limits.read_seconds, self._expect_progress, unread)

    def _await_no_reader(self) -> None:
        if self._reader_deadline is not None:
            self._reader_deadline.cancel()
            self._reader_deadline = None

    def _expect_progress(self, unread: int) -> None:
        """Not ``close``, which waits until all is written."""
        if unread - self.transport.get_write_buffer_size() < self.limits.read_bytes:
            self.transport.abort()
        else:
            self._await_reader()

    def _refuse(self, error: HeadgateError) -> None:
        self._owe_nothing()
        if not self._is_answering():
            self.transport.write(_answer(error))
        self.transport.close()


def _answer(error: HeadgateError) -> bytes:
    status = HTTPStatus(error.http_status)
    body = encoded_error(error.code, error.message, request_id="", details=error.details)
    named = "".join(f"{name.lower()}: {value}\r\n" for name, value in error_headers(error).items())
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {JSON}\r\ncontent-length: {len(body)}\r\n"
        f"{named}cache-control: no-store\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
