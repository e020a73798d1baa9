"""WebSockets (RFC 6455) between an agent and a server: each message whole, in order, and only after its verdict.

mitmproxy's layer stands still while a hook waits, keeps every message, and knows no limit of their size. Here a message
that waits for a person stops neither what comes from the server nor pings, messages are forgotten once they are sent,
and what one frame inflates to is bounded. What a client could say without a decision does not pass: payloads of pings
and pongs, the reason of a close, the lengths of fragments. A ping is answered here; the other side gets an empty one.

Extends an internal class of mitmproxy; see ``proxy.layers``.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from traceback import format_exception
from typing import Any, Final

import structlog
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketLayer
from msgspec import Struct
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Message, Ping, TextMessage
from wsproto.frame_protocol import CloseReason

from addons.memory_charge import MemoryCharge
from addons.metrics import GATE_FAILURES
from addons.refusal import reason_phrase
from addons.socket_messages import MESSAGE_BYTES_MAX, SocketMessages
from addons.verdict import client_state, flow_state
from headgate.gate.admitted import Admitted
from headgate.kernel.errors import HeadgateError, PayloadTooLargeError, RateLimitedError, UnavailableError
from headgate.nlp_policies.message_window import ArrivedMessages
from proxy.budget import BufferBudget
from proxy.commands import Awaited, Commands
from proxy.websocket_extensions import agreed

_log = structlog.get_logger(__name__)

DECIDED_AT_ONCE_MAX: Final = 32
"""Messages of one client that are decided or held; the next ones stay unread until one of them has gone."""
UNREAD_BYTES_MAX: Final = 64 << 10
"""Of a client whose next messages stay unread: beyond it, its socket is not read either. A client that has left is
noticed only while its socket is read."""
UNREAD_BESIDE_OTHERS_MAX: Final = 1 << 20
"""The same over HTTP/2, where other streams share the socket, so that it is read on: beyond it, the WebSocket ends.
These bytes count as its client's."""
EVENTS_AT_ONCE: Final = 16
"""Messages, fragments and control frames of one side, before others have their turn."""
_REASON_BYTES_MAX: Final = 123  # RFC 6455, 5.5
_TRY_AGAIN_LATER: Final = 1013
_INTERNAL_ERROR: Final = 1011


class _Waiting(Struct, eq=False):
    """A message from its last byte to its sending. ``charge``: of a message of the client, until it is sent.
    ``arrived``: its place among the others of its side."""

    content: bytes
    is_text: bool
    arrived: ArrivedMessages
    charge: MemoryCharge | None = None
    is_done: bool = False
    admitted: Admitted | None = None
    failure: BaseException | None = None


class GateWebsocket(WebsocketLayer):
    """From the answer to the handshake to the end of both connections."""

    def __init__(self, context: Context, flow: HTTPFlow, messages: SocketMessages, budget: BufferBudget) -> None:
        super().__init__(context, flow)
        self._messages = messages
        self._budget = budget
        self._parts: dict[bool, list[bytes]] = {True: [], False: []}
        self._sizes = {True: 0, False: 0}
        self._part_charges = {True: self._new_charge(), False: self._new_charge()}
        self._queues: dict[bool, deque[_Waiting]] = {True: deque(), False: deque()}
        self._reading: dict[bool, Iterator[Event]] = {}
        self._put_off: dict[bool, commands.RequestWakeup] = {}
        self._unread_charge = self._new_charge()
        self._is_beside_others = context.client.alpn == b"h2"
        self._room: asyncio.Event | None = None
        self._server_has_ended = False
        self._closing: tuple[CloseConnection, bool] | None = None
        self._is_over = False

    def start(self, event: events.Event) -> Commands[None]:
        response = self.flow.response
        offered = "" if response is None else response.headers.get("sec-websocket-extensions", "")
        of_client, of_server = agreed(offered), agreed(offered)
        if of_client is None or of_server is None:
            yield from self._over(CloseConnection(CloseReason.MANDATORY_EXT))
            return
        self.client_ws = WebsocketConnection(ConnectionType.SERVER, of_client, conn=self.context.client)
        self.server_ws = WebsocketConnection(ConnectionType.CLIENT, of_server, conn=self.context.server)
        self._handle_event = self.relay_messages  # type: ignore[method-assign] # as mitmproxy's own

    _handle_event = start

    def relay_messages(self, event: events.Event) -> Commands[None]:
        if isinstance(event, events.DataReceived):
            yield from self._arrived(event.data, from_client=event.connection == self.context.client)
        elif isinstance(event, events.ConnectionClosed):
            yield from self._ended(from_client=event.connection == self.context.client)
        elif isinstance(event, events.Wakeup):
            for from_client in [side for side, request in self._put_off.items() if request is event.command]:
                del self._put_off[from_client]
                yield from self._read_some(from_client=from_client)
        if not self._is_over:
            yield from self._forward()
        if not self._is_over:
            yield from self._put_off_the_rest()

    def _arrived(self, data: bytes, *, from_client: bool) -> Commands[None]:
        if self._closing is not None and self._closing[1] == from_client:
            return  # after its close, or after what is no frame, a side says nothing more
        (self.client_ws if from_client else self.server_ws).receive_data(data)
        yield from self._read_some(from_client=from_client)

    def _ended(self, *, from_client: bool) -> Commands[None]:
        """What a client sent before it left is dropped: nobody waits for it. What a server sent still arrives."""
        if from_client:
            yield from self._over(CloseConnection(CloseReason.GOING_AWAY))
        else:
            self._server_has_ended = True
            yield from self._read_some(from_client=False)

    def _read_some(self, *, from_client: bool) -> Commands[None]:
        """A few frames: thousands of messages of a few bytes may have come at once."""
        if from_client in self._put_off:
            return
        source = self.client_ws if from_client else self.server_ws
        reading = self._reading.get(from_client) or source.events()
        self._reading[from_client] = reading
        for _ in range(EVENTS_AT_ONCE):
            if from_client and self._is_full:
                return
            event = next(reading, None)
            if event is None and not from_client and self._server_has_ended:
                self._server_has_ended = False
                source.receive_data(None)
                self._reading[from_client] = reading = source.events()
                event = next(reading)
            if event is None:
                del self._reading[from_client]
                if from_client:
                    self._unread_charge.release()
                return
            yield from self._read(event, from_client=from_client)
            if self._is_over:
                return

    def _put_off_the_rest(self) -> Commands[None]:
        for from_client in self._reading:
            if from_client in self._put_off:
                continue
            if from_client and self._is_full:
                if self._is_beside_others:
                    failure = self._no_room_for_unread()
                    if failure is not None:
                        yield from self._refuse(failure)
                        return
                elif self._unread_bytes > UNREAD_BYTES_MAX and self._room is None:
                    self._room = asyncio.Event()
                    yield Awaited(_until(self._room), stops_reading=True)
                continue
            if not from_client:
                self._stop_reading()
            # A wake-up of mitmproxy's stops reading from the client, and so other streams and the client's own end, for
            # as long as a server sends frames of a few bytes.
            self._put_off[from_client] = commands.RequestWakeup(0) if from_client else Awaited(asyncio.sleep(0))
            yield self._put_off[from_client]

    @property
    def _unread_bytes(self) -> int:
        """Of the client: what no frame has been read from yet."""
        return len(self.client_ws._proto._frame_decoder.buffer)

    def _no_room_for_unread(self) -> UnavailableError | None:
        if self._unread_bytes > UNREAD_BESIDE_OTHERS_MAX:
            return UnavailableError("too many messages wait for a decision")
        try:
            self._unread_charge.charge(self._unread_bytes)
        except UnavailableError as error:
            return error
        return None

    @property
    def _is_full(self) -> bool:
        return len(self._queues[True]) >= DECIDED_AT_ONCE_MAX

    def done(self, event: events.Event) -> Commands[None]:
        yield from ()

    def _read(self, event: Event, *, from_client: bool) -> Commands[None]:
        source, other = (self.client_ws, self.server_ws) if from_client else (self.server_ws, self.client_ws)
        if isinstance(event, Message):
            yield from self._read_part(event, from_client=from_client)
        elif isinstance(event, Ping):
            yield source.send2(event.response())
            if other.state is ConnectionState.OPEN:
                yield other.send2(Ping())
        elif isinstance(event, CloseConnection):
            if from_client:
                self._messages.leave()
            if self._closing is None or (self._closing[1] and not from_client):
                # A server that closes takes nothing more, also where the client was first.
                is_broken = event.code == CloseReason.ABNORMAL_CLOSURE
                self._closing = (CloseConnection(CloseReason.GOING_AWAY) if is_broken else event, from_client)

    def _read_part(self, event: Message[Any], *, from_client: bool) -> Commands[None]:
        part = event.data.encode() if isinstance(event.data, str) else bytes(event.data)
        parts = self._parts[from_client]
        if part:
            parts.append(part)
        self._sizes[from_client] += len(part)
        charge = self._part_charges[from_client]
        if self._sizes[from_client] > MESSAGE_BYTES_MAX:
            yield from self._refuse(PayloadTooLargeError(f"a message is larger than {MESSAGE_BYTES_MAX} bytes"))
        elif not event.message_finished:
            try:
                charge.charge(self._sizes[from_client])
            except UnavailableError as error:
                yield from self._refuse(error)
        else:
            charge.release()
            arrived = self._messages.arrived(from_client=from_client)
            waiting = _Waiting(b"".join(parts), isinstance(event, TextMessage), arrived)
            self._parts[from_client], self._sizes[from_client] = [], 0
            yield from self._complete(waiting, from_client=from_client)

    def _complete(self, waiting: _Waiting, *, from_client: bool) -> Commands[None]:
        queue = self._queues[from_client]
        if from_client:
            waiting.charge = self._new_charge()
            try:
                waiting.charge.charge(len(waiting.content))
            except UnavailableError as error:
                yield from self._refuse(error)
                return
            queue.append(waiting)
            yield Awaited(self._kept(waiting, self._admit))
            return
        waiting.content = self._messages.received(waiting.content)
        queue.append(waiting)
        if self._messages.inspects:
            self._stop_reading()
            yield Awaited(self._kept(waiting, self._inspect))
        else:
            waiting.is_done = True

    async def _admit(self, waiting: _Waiting) -> None:
        masked = self._new_charge()
        try:
            decided = await self._messages.decide(
                waiting.content, is_text=waiting.is_text, charge=masked.charge, arrived=waiting.arrived
            )
        finally:
            masked.release()
        waiting.admitted, waiting.content = decided.admitted, decided.content

    def _new_charge(self) -> MemoryCharge:
        return MemoryCharge(self._budget, client_state(self.context.client))

    async def _inspect(self, waiting: _Waiting) -> None:
        waiting.content = await self._messages.inspect(
            waiting.content, is_text=waiting.is_text, arrived=waiting.arrived
        )

    async def _kept(self, waiting: _Waiting, verdict: Callable[[_Waiting], Awaitable[None]]) -> None:
        """Whatever it raises refuses the message."""
        try:
            await verdict(waiting)
        except asyncio.CancelledError:
            self._abandon()  # the connection has ended, and nothing is sent any more
            raise
        except BaseException as failure:  # noqa: BLE001 - also an exit must not let the message through
            waiting.failure = failure
        waiting.is_done = True
        if self._is_over:
            self._abandon()

    def _forward(self) -> Commands[None]:
        """What has its verdict, in the order in which it came."""
        for from_client, queue in self._queues.items():
            other = self.server_ws if from_client else self.client_ws
            while queue and queue[0].is_done and not self._is_over:
                waiting = queue[0]
                if waiting.failure is not None or (from_client and waiting.admitted is None):
                    yield from self._refuse(waiting.failure)
                    return
                if other.state is not ConnectionState.OPEN:
                    break
                queue.popleft()
                text = waiting.content.decode(errors="replace") if waiting.is_text else None
                yield other.send2(BytesMessage(waiting.content) if text is None else TextMessage(text))
                if waiting.admitted is not None:
                    self._messages.sent(waiting.admitted, len(waiting.content))
                if waiting.charge is not None:
                    waiting.charge.release()
        if not self._queues[False] and False not in self._reading:
            self._read_on()
        if self._room is not None and not self._is_full:
            self._room.set()
            self._room = None
        if self._closing is not None and not self._is_over:
            event, from_client = self._closing
            other = self.server_ws if from_client else self.client_ws
            if not self._queues[from_client] or other.state is not ConnectionState.OPEN:
                yield from self._over(CloseConnection(event.code, None if from_client else self._told(event.reason)))

    def _told(self, reason: str | None) -> str | None:
        """What the client may see of the reason of the server's close: nothing, where policies look at messages."""
        if not reason or self._messages.inspects:
            return None
        return self._messages.received(reason.encode())[:_REASON_BYTES_MAX].decode(errors="ignore")

    def _refuse(self, failure: BaseException | None) -> Commands[None]:
        """Both connections end; the client's says why."""
        code, reason = _INTERNAL_ERROR, "the gate failed while it decided about this message"
        if isinstance(failure, HeadgateError):
            code, reason = _close_code(failure), reason_phrase(failure)
        else:
            GATE_FAILURES.labels(hook="websocket_message").inc()
            lines = "no verdict" if failure is None else "".join(format_exception(failure))
            _log.error("gate_failed", hook="websocket_message", error=repr(failure), traceback=lines)
        told = CloseConnection(code, reason[:_REASON_BYTES_MAX])
        yield from self._over(CloseConnection(CloseReason.GOING_AWAY), told)

    def _over(self, to_server: CloseConnection, to_client: CloseConnection | None = None) -> Commands[None]:
        self._is_over = True
        self._messages.leave()
        self._abandon()
        for charge in (self._unread_charge, *self._part_charges.values()):
            charge.release()
        self._read_on()
        if self._room is not None:
            self._room.set()
        for name, close in (("server_ws", to_server), ("client_ws", to_client or to_server)):
            socket: WebsocketConnection | None = getattr(self, name, None)
            if socket is not None and socket.state in (ConnectionState.OPEN, ConnectionState.REMOTE_CLOSING):
                yield socket.send2(close)
        yield commands.CloseConnection(self.context.server)
        yield commands.CloseConnection(self.context.client)
        self.flow.live = False
        self._handle_event = self.done  # type: ignore[method-assign] # as mitmproxy's own

    def _abandon(self) -> None:
        """What was admitted and not sent ends as not sent."""
        self._is_over = True
        for waiting in self._queues[True]:
            admitted, waiting.admitted = waiting.admitted, None
            if admitted is not None:
                self._messages.not_sent(admitted)
            if waiting.charge is not None:
                waiting.charge.release()  # over HTTP/2 the connection, whose end would do it, goes on

    def _stop_reading(self) -> None:
        """Reads no more from the server."""
        client_state(self.context.client).inspecting[flow_state(self.flow)] = self.context.server

    def _read_on(self) -> None:
        """Reads from the server again."""
        state = client_state(self.context.client)
        if state.inspecting.pop(flow_state(self.flow), None) is not None:
            state.unthrottled.wake()


async def _until(room: asyncio.Event) -> None:
    await room.wait()


def _close_code(error: HeadgateError) -> int:
    """RFC 6455, 7.4.1, and 1013 of the registry that it names."""
    if isinstance(error, PayloadTooLargeError):
        return CloseReason.MESSAGE_TOO_BIG
    return _TRY_AGAIN_LATER if isinstance(error, RateLimitedError | UnavailableError) else CloseReason.POLICY_VIOLATION
