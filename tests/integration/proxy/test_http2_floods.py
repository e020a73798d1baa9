"""Frames that ask for nothing, as many as a client can send: the connection ends, and the gate goes on."""

import asyncio
import contextlib
import struct

import h2.config
import h2.connection
import h2.errors
import h2.events
import pytest

_MANY = 20_000


def frame(kind: int, payload: bytes, *, stream: int = 0, flags: int = 0) -> bytes:
    """RFC 9113, 4.1."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


FLOODS = {
    "pings": frame(0x6, bytes(8)),
    "settings": frame(0x4, b""),
    "priorities": frame(0x2, bytes(4) + b"\x10", stream=7),
    "empty data": frame(0x0, b"", stream=1),
    "frames of an unknown type": frame(0xFA, b""),
    "window updates": frame(0x8, struct.pack(">I", 1)),
    "acknowledged pings": frame(0x6, bytes(8), flags=1),
    "acknowledged settings": frame(0x4, b"", flags=1),
    "data of a byte": frame(0x0, b"x", stream=1),
}


async def opened(running) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, h2.connection.H2Connection]:
    """With one request that has begun and not ended."""
    reader, writer = await running.tunnel(alpn=["h2"])
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding=None))
    connection.initiate_connection()
    begin(running, connection, end_stream=False)
    writer.write(connection.data_to_send())
    return reader, writer, connection


def begin(running, connection: h2.connection.H2Connection, *, end_stream: bool) -> int:
    stream = connection.get_next_available_stream_id()
    authority = f"127.0.0.1:{running.upstream.port}".encode()
    head = [(b":method", b"POST"), (b":scheme", b"https"), (b":path", b"/"), (b":authority", authority)]
    connection.send_headers(stream, head, end_stream=end_stream)
    return stream


async def ended_with(reader: asyncio.StreamReader, connection: h2.connection.H2Connection) -> int | None:
    """The code of the GOAWAY with which the gate ends the connection."""
    async with asyncio.timeout(60):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.ConnectionTerminated):
                        return event.error_code
    return None


async def sent(writer: asyncio.StreamWriter, frames: bytes) -> None:
    """All of it, or as much as is taken."""
    with contextlib.suppress(ConnectionError):
        writer.write(frames)
        await writer.drain()


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
async def test_frames_that_ask_for_nothing(start, answer, flood: bytes) -> None:
    running = await start()
    reader, writer, connection = await opened(running)
    try:
        sending = asyncio.create_task(sent(writer, flood * _MANY))
        assert await ended_with(reader, connection) == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
        await sending
    finally:
        writer.close()
    assert answer(await running.secure(running.get("/"), wait_seconds=60)).status == 200


async def test_requests_that_are_taken_back_at_once(start, answer) -> None:
    running = await start()
    reader, writer, connection = await opened(running)
    try:
        for _ in range(2000):
            connection.reset_stream(begin(running, connection, end_stream=True), h2.errors.ErrorCodes.CANCEL)
        sending = asyncio.create_task(sent(writer, connection.data_to_send()))
        assert await ended_with(reader, connection) == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
        await sending
    finally:
        writer.close()
    await asyncio.sleep(0.5)  # an address without a key gets its next connection when its allowance has grown again
    assert answer(await running.secure(running.get("/"), wait_seconds=60)).status == 200


async def test_requests_that_are_taken_back_count_over_all_connections_of_an_agent(start, answer) -> None:
    """Each connection has an allowance of frames of its own: a new one is no new allowance of requests for nothing."""
    running = await start()
    are_read = [await _takes_back(running, 150) for _ in range(6)]
    assert are_read[0]
    assert not all(are_read)
    await asyncio.sleep(0.5)
    assert answer(await running.secure(running.get("/"), wait_seconds=60)).status == 200


async def _takes_back(running, count: int) -> bool:
    """Whether the gate goes on reading the connection, and does not end it."""
    with contextlib.suppress(ConnectionError):
        reader, writer, connection = await opened(running)
        try:
            for _ in range(count):
                connection.reset_stream(begin(running, connection, end_stream=True), h2.errors.ErrorCodes.CANCEL)
            connection.ping(bytes(8))
            writer.write(connection.data_to_send())
            return await _answers_a_ping(reader, connection)
        finally:
            writer.close()
    return False


async def _answers_a_ping(reader: asyncio.StreamReader, connection: h2.connection.H2Connection) -> bool:
    async with asyncio.timeout(60):
        while data := await reader.read(65536):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.PingAckReceived):
                    return True
    return False


async def test_what_clients_do_is_no_flood(start) -> None:
    running = await start()
    reader, writer, connection = await opened(running)
    try:
        for index in range(150):
            connection.ping(struct.pack(">Q", index))
            connection.reset_stream(begin(running, connection, end_stream=True), h2.errors.ErrorCodes.CANCEL)
        writer.write(connection.data_to_send())
        answered = 0
        async with asyncio.timeout(60):
            while answered < 150:
                events = connection.receive_data(await reader.read(65536))
                assert not any(isinstance(event, h2.events.ConnectionTerminated) for event in events)
                answered += sum(isinstance(event, h2.events.PingAckReceived) for event in events)
    finally:
        writer.close()
