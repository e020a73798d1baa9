"""A client and a server of a bidirectional call of gRPC that say what they send when, frame by frame (HTTP/2)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
from mitmproxy.http import HTTPFlow

from addons.client_messages import AdmittedMessage
from addons.refuse import refuse_with
from addons.verdict import flow_state, is_open
from headgate.gate.refusals import ActionDeniedError
from headgate.kernel.errors import HeadgateError
from tests.integration.proxy.conftest import Allow, Running

RECEIVED: dict[str, list[bytes]] = {}
"""What the server got, by method."""
SERVING: dict[str, "Server"] = {}
"""The server's side of the last connection, by method."""
END, CUT = b"end", b"cut"
"""How its client's half ended."""


def framed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


@dataclass
class Messages:
    """In place of ``addons.later_messages``: decides as the test says, and keeps what became of each."""

    verdict: Callable[[bytes], Awaitable[bytes]] | None = None
    decided: list[bytes] = field(default_factory=list)
    forwarded: list[int] = field(default_factory=list)
    dropped: int = 0
    left: int = 0

    async def decide(self, frames: bytes) -> AdmittedMessage:
        self.decided.append(frames)
        content = frames if self.verdict is None else await self.verdict(frames)
        return AdmittedMessage(object(), content)  # type: ignore[arg-type] # nobody looks into it

    def sent(self, admitted: object, size_bytes: int) -> None:
        self.forwarded.append(size_bytes)

    def not_sent(self, admitted: object) -> None:
        self.dropped += 1

    def leave(self) -> None:
        self.left += 1


@dataclass
class Decide(Allow):
    """Allows the call, or refuses it with ``first``; ``messages`` decides about later messages."""

    messages: Messages = field(default_factory=Messages)
    first: HeadgateError | None = None
    decided: int = 0

    async def request(self, flow: HTTPFlow) -> None:
        if is_open(flow) and flow_state(flow).stream.is_bidirectional:
            flow_state(flow).later_messages = self.messages  # type: ignore[assignment] # a double
            self.decided += 1
            if self.first is not None:
                refuse_with(flow, self.first)
        await super().request(flow)


async def denies(frames: bytes) -> bytes:
    """A verdict of ``Messages``."""
    if b"secret" in frames:
        raise ActionDeniedError("no secrets", details={"action_id": "act_1"})
    return frames


class Server(asyncio.Protocol):
    """Answers each message with itself. These methods of ``e.Echo`` do otherwise:

    ``One``: answers the first message, and ends. ``Reset``: as ``One``, and resets the stream. ``Broken``: as ``One``,
    with the status of a failure. ``Told``: as ``Broken``, with an address in the trailers. ``Silent``: never answers.
    ``Full``: as ``Silent``, and gives the client no window (RFC 9113, 5.2). ``Watch``: answers each message twice, and
    never ends. ``Json``: answers with another Content-Type.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        utf_8 = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.connection = h2.connection.H2Connection(utf_8)
        self.connection.initiate_connection()
        self.methods: dict[int, str] = {}
        self.flush()

    def flush(self) -> None:
        self.transport.write(self.connection.data_to_send())  # type: ignore[attr-defined] # of a stream

    def data_received(self, data: bytes) -> None:
        for event in self.connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.begun(event.stream_id, dict(event.headers)[":path"].rpartition("/")[2])
            elif isinstance(event, h2.events.DataReceived):
                if self.methods[event.stream_id] != "Full":
                    self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if event.data:
                    self.said(event.stream_id, event.data)
            elif isinstance(event, h2.events.StreamEnded):
                RECEIVED[self.methods[event.stream_id]].append(END)
                self.end(event.stream_id, "0")
            elif isinstance(event, h2.events.StreamReset):
                RECEIVED[self.methods[event.stream_id]].append(CUT)
        self.flush()

    def begun(self, stream: int, method: str) -> None:
        self.methods[stream] = method
        RECEIVED[method] = []
        SERVING[method] = self
        if method not in ("Silent", "Full"):
            form = "application/json" if method == "Json" else "application/grpc"
            self.connection.send_headers(stream, [(":status", "200"), ("content-type", form)])

    def said(self, stream: int, data: bytes) -> None:
        method = self.methods[stream]
        RECEIVED[method].append(data)
        if method not in ("Silent", "Full"):
            self.connection.send_data(stream, data * 2 if method == "Watch" else data)
        if method in ("One", "Broken", "Told", "Reset"):
            self.end(stream, "0" if method in ("One", "Reset") else "15")
        if method == "Reset":
            self.connection.reset_stream(stream, 0)

    def leave(self) -> None:
        self.transport.abort()  # type: ignore[attr-defined] # of a stream

    def end(self, stream: int, status: str) -> None:
        if self.methods[stream] not in ("Silent", "Full", "Watch"):
            told = [("x-told", "maria.keller@example.com")] if self.methods[stream] == "Told" else []
            self.connection.send_headers(stream, [("grpc-status", status), *told], end_stream=True)


class Client:
    """One call."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: str, path: str, form: str
    ) -> None:
        self.reader, self.writer = reader, writer
        self.connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        )
        self.connection.initiate_connection()
        head = [(":method", "POST"), (":scheme", "https"), (":path", path), (":authority", authority)]
        self.stream = self.connection.get_next_available_stream_id()
        self.connection.send_headers(self.stream, [*head, ("content-type", form), ("te", "trailers")])
        self.headers: dict[str, str] = {}
        self.trailers: dict[str, str] = {}
        self.data = b""
        self.is_ended = self.is_reset = self.is_alive = False

    def send(self, data: bytes, *, ends: bool = False) -> None:
        self.connection.send_data(self.stream, data, end_stream=ends)
        self.flush()

    def flush(self) -> None:
        self.writer.write(self.connection.data_to_send())

    async def ping(self) -> None:
        """Whether the connection lives. The gate has read what was sent before, and what it grants has been read."""
        self.is_alive = False
        self.connection.ping(b"12345678")
        self.flush()
        await self.read(until=lambda: self.is_alive)

    async def read(self, *, until: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not until():
                data = await self.reader.read(65536)
                if not data:
                    raise ConnectionResetError
                for event in self.connection.receive_data(data):
                    if isinstance(event, h2.events.ResponseReceived):
                        self.headers = dict(event.headers)
                    elif isinstance(event, h2.events.TrailersReceived):
                        self.trailers = dict(event.headers)
                    elif isinstance(event, h2.events.DataReceived):
                        self.data += event.data
                        self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    elif isinstance(event, h2.events.StreamEnded):
                        self.is_ended = True
                    elif isinstance(event, h2.events.StreamReset):
                        self.is_reset = True
                    elif isinstance(event, h2.events.PingAckReceived):
                        self.is_alive = True
                self.flush()


async def begun(running: Running, port: int, method: str = "Chat", form: str = "application/grpc") -> Client:
    reader, writer = await running.tunnel(port=port, alpn=["h2"])
    client = Client(reader, writer, f"127.0.0.1:{port}", f"/e.Echo/{method}", form)
    client.flush()
    return client


async def finished(running: Running, client: Client) -> None:
    """Nothing is held any more."""
    client.writer.close()
    await running.settled()
    assert running.gate.budget.used_bytes == 0


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.01)
