"""A client of HTTP/2 through the gate, with WebSockets among its streams (RFC 8441)."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import h2.config
import h2.connection
import h2.events
from h2.settings import SettingCodes
from wsproto.connection import Connection, ConnectionType
from wsproto.events import Event, Message
from wsproto.extensions import PerMessageDeflate

type Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]
type Fields = Sequence[tuple[bytes, bytes]]


@dataclass
class Stream:
    """What has come on it."""

    client: "Http2Client"
    number: int
    asks_for_socket: bool = False
    head: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    has_ended: bool = False
    reset_code: int | None = None
    socket: Connection = field(default_factory=lambda: Connection(ConnectionType.CLIENT))
    events: list[Event] = field(default_factory=list)

    @property
    def status(self) -> int:
        return int(self.head.get(b":status", b"0"))

    @property
    def error(self) -> tuple[int, str]:
        """Status and code of a refusal."""
        return self.status, json.loads(self.body)["error"]["code"]

    @property
    def messages(self) -> list[Any]:
        return [event.data for event in self.events if isinstance(event, Message)]

    async def until(self, holds: Callable[["Stream"], object], *, seconds: float = 60) -> None:
        async with asyncio.timeout(seconds):
            while not holds(self):
                await self.client.arrival()

    async def opened(self) -> "Stream":
        await self.until(lambda one: one.status)
        assert self.status == 200, (self.status, self.body)
        return self

    async def done(self) -> "Stream":
        await self.until(lambda one: one.has_ended or one.reset_code is not None)
        return self

    def send(self, *messages: Event) -> None:
        self.client.data(self.number, b"".join(self.socket.send(one) for one in messages))


class Http2Client:
    """One connection. ``tunnel`` opens TLS through CONNECT to ``authority``, with HTTP/2 agreed. ``window``: what it
    takes of each stream before it says that it takes more."""

    def __init__(self, tunnel: Callable[[], Awaitable[Wire]], authority: str, *, window: int | None = None) -> None:
        self.authority = authority.encode()
        self._open_tunnel = tunnel
        self._window = window
        config = h2.config.H2Configuration(
            client_side=True, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        self.h2 = h2.connection.H2Connection(config)
        self.streams: dict[int, Stream] = {}
        self.goaway: int | None = None
        self._arrival = asyncio.Event()

    async def __aenter__(self) -> "Http2Client":
        reader, self.writer = await self._open_tunnel()
        self.h2.initiate_connection()
        if self._window is not None:
            self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: self._window})
        self.flush()
        self._reading = asyncio.create_task(self._read(reader))
        await self.arrival()  # its settings
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()
        with suppress(ConnectionError):
            await self._reading

    async def arrival(self) -> None:
        self._arrival.clear()
        await self._arrival.wait()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(65536):
            for event in self.h2.receive_data(data):
                self._on(event)
            self.flush()
            self._arrival.set()

    def _on(self, event: h2.events.Event) -> None:
        stream = self.streams.get(getattr(event, "stream_id", 0))
        if isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = event.error_code
        elif stream is None:
            return
        elif isinstance(event, h2.events.ResponseReceived):
            stream.head = dict(event.headers)
            if b"sec-websocket-extensions" in stream.head:
                deflate = PerMessageDeflate()
                deflate.finalize(stream.head[b"sec-websocket-extensions"].decode())
                stream.socket = Connection(ConnectionType.CLIENT, extensions=[deflate])
        elif isinstance(event, h2.events.DataReceived):
            if self._window is None:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if stream.status == 200 and stream.asks_for_socket and event.data:
                stream.socket.receive_data(event.data)
                stream.events += stream.socket.events()
            else:
                stream.body += event.data
        elif isinstance(event, h2.events.StreamEnded):
            stream.has_ended = True
        elif isinstance(event, h2.events.StreamReset):
            stream.reset_code = event.error_code

    def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())

    def connect(
        self, path: str | None = "/socket", headers: Fields = (), *, end_stream: bool = False, **pseudo: bytes | None
    ) -> Stream:
        """Asks for a WebSocket. ``pseudo``: in place of its pseudo-header fields; None leaves one out."""
        named: dict[str, bytes | None] = {
            "method": b"CONNECT",
            "protocol": b"websocket",
            "scheme": b"https",
            "path": None if path is None else path.encode(),
            "authority": self.authority,
            **pseudo,
        }
        head = [(b":" + name.encode(), value) for name, value in named.items() if value is not None]
        stream = self._begin([*head, (b"sec-websocket-version", b"13"), *headers], end_stream=end_stream)
        stream.asks_for_socket = True
        return stream

    def get(self, path: str = "/") -> Stream:
        head = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":path", path.encode()),
            (b":authority", self.authority),
        ]
        return self._begin(head, end_stream=True)

    def _begin(self, head: Fields, *, end_stream: bool) -> Stream:
        number = self.h2.get_next_available_stream_id()
        self.streams[number] = stream = Stream(self, number)
        self.h2.send_headers(number, list(head), end_stream=end_stream)
        self.flush()
        return stream

    def data(self, stream: int, data: bytes, *, end_stream: bool = False) -> None:
        for start in range(0, len(data), 16384):
            self.h2.send_data(stream, data[start : start + 16384])
        if end_stream:
            self.h2.end_stream(stream)
        self.flush()

    def reset(self, stream: Stream, code: int = 8) -> None:
        self.h2.reset_stream(stream.number, code)
        self.flush()
