"""Whatever goes wrong while a message is decided or inspected: it does not arrive, and the socket ends."""

import asyncio
import zlib
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Message, Ping, TextMessage

from addons.socket_messages import AdmittedMessage
from addons.verdict import flow_state
from headgate.kernel.errors import RateLimitedError, UnavailableError
from proxy.websocket import DECIDED_AT_ONCE_MAX
from tests.integration.proxy.decided_messages import FirstWaits, Messages

PATH = "/socket"
HANDSHAKE = (
    "GET /socket HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
)
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"


@dataclass
class Opened:
    """A socket whose handshake has been answered, as its client holds it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    running: Any
    socket: Connection = field(default_factory=lambda: Connection(ConnectionType.CLIENT))

    def send(self, *messages: Event) -> None:
        self.writer.write(b"".join(self.socket.send(one) for one in messages))

    async def events(self) -> list[Event]:
        """All until the end of the connection."""
        found: list[Event] = []
        async with asyncio.timeout(30):
            while data := await self.reader.read(65536):
                self.socket.receive_data(data)
                found += self.socket.events()
        self.writer.close()
        await self.running.settled()
        return found

    def arrived(self) -> list[Event]:
        """What reached the server, its connection's end included."""
        socket = Connection(ConnectionType.SERVER)
        found: list[Event] = []
        for data in self.running.upstream.rest:
            socket.receive_data(data)
            found += socket.events()
        return found


@pytest.fixture
def opened(start):
    async def begin(messages: Messages | None, answer: bytes = b"", fields: bytes = b"") -> Opened:
        running = await start()
        running.upstream.scripts[PATH.encode()] = [SWITCHED + fields + b"\r\n" + answer]

        async def before(flow) -> None:
            flow_state(flow).socket = messages

        running.decide.before = before
        reader, writer = await running.tunnel()
        writer.write(HANDSHAKE.format(host=f"127.0.0.1:{running.upstream.port}", fields="").encode())
        async with asyncio.timeout(30):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
        return Opened(reader, writer, running)

    return begin


def _code(events: list[Event]) -> int:
    [close] = [event for event in events if isinstance(event, CloseConnection)]
    return close.code


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (RuntimeError("a fault"), 1011),
        (MemoryError(), 1011),
        (GeneratorExit(), 1011),
        (UnavailableError("no database"), 1013),
        (RateLimitedError("too many", retry_after_seconds=1), 1013),
    ],
)
async def test_a_decision_that_fails(opened, failure: BaseException, code: int) -> None:
    messages = Messages(failure)
    socket = await opened(messages)
    socket.send(TextMessage("one"), TextMessage("two"))
    assert _code(await socket.events()) == code
    assert not [event for event in socket.arrived() if isinstance(event, Message)]
    assert messages.left
    assert messages.ended == []


async def test_a_handshake_that_nobody_takes_care_of(opened) -> None:
    socket = await opened(None)
    socket.send(TextMessage("one"))
    await socket.events()
    assert not [event for event in socket.arrived() if isinstance(event, Message)]


@pytest.mark.parametrize("inspects", [True, False])
async def test_an_inspection_that_fails(opened, inspects: bool) -> None:
    messages = Messages(inspection_failure=RuntimeError("a fault"), inspects=inspects)
    socket = await opened(messages, Connection(ConnectionType.SERVER).send(TextMessage("secret")))
    if not inspects:
        socket.send(CloseConnection(1000))
    events = await socket.events()
    assert [event.data for event in events if isinstance(event, TextMessage)] == ([] if inspects else ["secret"])
    assert _code(events) == (1011 if inspects else 1000)


@pytest.mark.parametrize(("inspects", "reason"), [(True, None), (False, "bad key ***")])
async def test_the_reason_of_the_servers_close(opened, inspects: bool, reason: str | None) -> None:
    class Masks(Messages):
        def received(self, content: bytes) -> bytes:
            return content.replace(b"secret", b"***")

    socket = await opened(
        Masks(inspects=inspects), Connection(ConnectionType.SERVER).send(CloseConnection(4001, "bad key secret"))
    )
    [close] = [event for event in await socket.events() if isinstance(event, CloseConnection)]
    assert (close.code, close.reason or None) == (4001, reason)


async def test_a_connection_that_breaks_while_a_message_is_decided(opened) -> None:
    messages = Messages(wait=asyncio.Event())
    socket = await opened(messages)
    socket.send(BytesMessage(b"one"))
    await asyncio.sleep(0.2)
    socket.writer.transport.abort()
    await socket.running.settled()
    messages.wait.set()
    await asyncio.sleep(0.1)
    assert not [event for event in socket.arrived() if isinstance(event, Message)]
    assert messages.ended == []


async def test_what_was_decided_and_not_sent_is_told_so(opened) -> None:
    """The second is decided while the first still waits, and the connection ends."""
    messages = FirstWaits(wait=asyncio.Event())
    socket = await opened(messages)
    socket.send(BytesMessage(b"0"), BytesMessage(b"second"))
    await asyncio.sleep(0.2)
    socket.writer.transport.abort()
    await socket.running.settled()
    assert messages.ended == ["not sent"]


@pytest.mark.parametrize("frame", [b"\xff\x00", b"\x81\x05hello", b"\xc1\x85abcdhello", b"\x83\x80abcd"])
async def test_bytes_that_are_no_frames(opened, frame: bytes) -> None:
    """Reserved bits and codes, a message that is not masked, one that is compressed without having been agreed."""
    socket = await opened(Messages())
    socket.writer.write(frame)
    assert _code(await socket.events()) == 1002
    assert not [event for event in socket.arrived() if isinstance(event, Message)]


async def test_an_extension_that_the_gate_cannot_read(opened) -> None:
    socket = await opened(Messages(), fields=b"Sec-WebSocket-Extensions: x-secret\r\n")
    socket.send(TextMessage("one"))
    await socket.events()
    assert not [event for event in socket.arrived() if isinstance(event, Message)]


async def test_a_message_that_inflates_without_end(opened) -> None:
    socket = await opened(Messages(), fields=b"Sec-WebSocket-Extensions: permessage-deflate\r\n")
    compressor = zlib.compressobj(wbits=-15)
    data = compressor.compress(bytes(64 << 20)) + compressor.flush(zlib.Z_SYNC_FLUSH)
    assert len(data) < 1 << 16
    socket.writer.write(b"\xc2\xfe" + len(data).to_bytes(2, "big") + bytes(4) + data)
    assert _code(await socket.events()) == 1009


async def test_of_many_messages_at_once_a_few_are_decided(opened) -> None:
    """The rest waits unread, and all arrive in order."""
    started: list[bytes] = []
    goes_on = asyncio.Event()

    class Counts(Messages):
        async def decide(self, content: bytes, *, is_text: bool, charge: Any, arrived: Any) -> Any:
            started.append(content)
            await goes_on.wait()
            return AdmittedMessage(cast("Any", content), content)

    sent = [f"{number}".encode() for number in range(2000)]
    socket = await opened(Counts())
    socket.send(*map(BytesMessage, sent), CloseConnection(1000))
    await asyncio.sleep(0.5)
    assert len(started) == DECIDED_AT_ONCE_MAX
    goes_on.set()
    await socket.events()
    assert [bytes(event.data) for event in socket.arrived() if isinstance(event, Message)] == sent


async def test_many_messages_of_a_server_that_has_left_arrive(opened) -> None:
    server = Connection(ConnectionType.SERVER)
    sent = [f"{number}".encode() for number in range(2000)]
    sent.append(b"the upstream closes after\n\n\n")
    socket = await opened(Messages(), b"".join(server.send(BytesMessage(one)) for one in sent))
    assert [bytes(event.data) for event in await socket.events() if isinstance(event, Message)] == sent


async def _first_waits(opened: Any) -> tuple[Opened, FirstWaits]:
    """As many messages as are decided at once, of which the first waits and the others are allowed."""
    messages = FirstWaits(wait=asyncio.Event())
    socket = await opened(messages)
    socket.send(*(BytesMessage(f"{number}".encode()) for number in range(DECIDED_AT_ONCE_MAX)))
    await asyncio.sleep(0.2)
    return socket, messages


async def test_what_comes_behind_a_message_that_waits_is_not_kept_without_a_bound(opened) -> None:
    socket, messages = await _first_waits(opened)
    more = b"".join(socket.socket.send(BytesMessage(b"x" * 1000)) for _ in range(1000))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            for _ in range(32):
                socket.writer.write(more)
                await socket.writer.drain()
    messages.wait.set()  # type: ignore[union-attr]
    socket.writer.transport.abort()
    await socket.running.settled()


async def test_a_client_that_leaves_behind_a_message_that_waits_is_noticed(opened) -> None:
    socket, messages = await _first_waits(opened)
    socket.send(BytesMessage(b"one more"))
    await asyncio.sleep(0.2)
    socket.writer.transport.abort()
    async with asyncio.timeout(10):
        while not messages.left:
            await asyncio.sleep(0.02)
    messages.wait.set()  # type: ignore[union-attr]
    await socket.running.settled()
    assert messages.ended == ["not sent"] * (DECIDED_AT_ONCE_MAX - 1)
    assert not [event for event in socket.arrived() if isinstance(event, Message)]


async def test_a_server_that_closes_takes_no_message_that_is_decided_later(opened) -> None:
    """Its own message is still inspected, so that the socket is open."""
    inspected = asyncio.Event()

    class Inspects(Messages):
        async def inspect(self, content: bytes, *, is_text: bool, arrived: Any) -> bytes:
            await inspected.wait()
            return content

    server = Connection(ConnectionType.SERVER)
    messages = Inspects(inspects=True)
    socket = await opened(messages, server.send(BytesMessage(b"hello")) + server.send(CloseConnection(4001)))
    socket.send(BytesMessage(b"too late"), Ping())
    await asyncio.sleep(0.2)
    inspected.set()
    events = await socket.events()
    assert [bytes(event.data) for event in events if isinstance(event, Message)] == [b"hello"]
    assert _code(events) == 4001
    assert messages.ended == ["not sent"]


async def test_nothing_is_kept_of_what_follows_bytes_that_are_no_frame(opened) -> None:
    messages = FirstWaits(wait=asyncio.Event())
    socket = await opened(messages)
    socket.send(BytesMessage(b"0"))
    socket.writer.write(b"\x83\x80abcd" + bytes(1000))
    await asyncio.sleep(0.2)
    socket.writer.write(bytes(1 << 20))
    await socket.writer.drain()
    messages.wait.set()  # type: ignore[union-attr]
    assert _code(await socket.events()) == 1002


@dataclass
class MasksLonger(Messages):
    """What is sent is longer than what came; ``copy_bytes``: what is charged for it meanwhile."""

    copy_bytes: int = 0
    budget: Any = None
    used_bytes: int = 0

    async def decide(self, content: bytes, *, is_text: bool, charge: Any, arrived: Any) -> Any:
        charge(1)
        charge(self.copy_bytes)
        self.used_bytes = self.budget.used_bytes
        await super().decide(content, is_text=is_text, charge=charge, arrived=arrived)
        return AdmittedMessage(cast("Any", content), content + b" [masked: keyword]")


@pytest.mark.parametrize("failure", [None, RuntimeError("a fault"), UnavailableError("no database")])
async def test_a_masked_copy_is_charged_until_it_is_decided(opened, failure: Exception | None) -> None:
    messages = MasksLonger(failure, copy_bytes=1000)
    socket = await opened(messages)
    messages.budget = budget = socket.running.gate.budget
    socket.send(TextMessage("hello"))
    if failure is None:
        async with asyncio.timeout(10):
            while not messages.ended:
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        assert (messages.used_bytes, budget.used_bytes) == (1005, 0), "while the connection is open"
        socket.send(CloseConnection(1000))
    await socket.events()
    sent = [event.data for event in socket.arrived() if isinstance(event, TextMessage)]
    assert sent == (["hello [masked: keyword]"] if failure is None else [])
    assert (messages.used_bytes, budget.used_bytes) == (1005, 0)


async def test_without_room_for_a_masked_copy_the_message_is_refused(opened) -> None:
    messages = MasksLonger(copy_bytes=1 << 40)
    socket = await opened(messages)
    messages.budget = socket.running.gate.budget
    socket.send(TextMessage("hello"))
    assert _code(await socket.events()) == 1013
    assert not [event for event in socket.arrived() if isinstance(event, Message)]
    assert messages.budget.used_bytes == 0
