"""What enforcement needs to know while it holds a request: is somebody still there, was anything sent."""

import asyncio

import h2.config
import h2.connection
import pytest

from addons.verdict import Ending, FlowState, flow_state


class Hold:
    """Holds every request until it is told to go on."""

    def __init__(self) -> None:
        self.held: asyncio.Queue[FlowState] = asyncio.Queue()
        self.go_on = asyncio.Event()
        self.abandoned = asyncio.Event()
        self.connected_after: list[bool] = []

    async def __call__(self, flow) -> None:
        state = flow_state(flow)
        state.on_abandoned = self.abandoned.set
        self.held.put_nowait(state)
        await self.go_on.wait()
        self.connected_after.append(state.connected)


@pytest.fixture
async def hold() -> Hold:
    return Hold()


async def test_a_client_that_waits_is_connected(start, answer, hold) -> None:
    running = await start()
    running.decide.before = hold
    request = asyncio.ensure_future(running.secure(running.get()))
    state = await hold.held.get()
    assert state.connected and not state.sent_upstream
    assert running.upstream.connections == 0
    hold.go_on.set()
    assert answer(await request).status == 200
    assert state.sent_upstream
    assert hold.connected_after == [True]
    assert not hold.abandoned.is_set()


@pytest.mark.parametrize("through", ["tunnel", "plain"])
async def test_a_client_that_leaves_is_not_forwarded(start, hold, through) -> None:
    running = await start()
    running.decide.before = hold
    if through == "tunnel":
        _, writer = await running.tunnel()
        writer.write(running.get())
    else:
        _, writer = await asyncio.open_connection("127.0.0.1", running.port)
        host = f"127.0.0.1:{running.upstream.plain_port}"
        writer.write(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    state = await hold.held.get()
    writer.close()
    async with asyncio.timeout(30):
        await hold.abandoned.wait()
    assert not state.connected
    hold.go_on.set()
    await running.settled()
    assert hold.connected_after == [False]
    # It was allowed all the same, after the client had left: told to be not sent, and not sent.
    assert [completion.ending for completion in running.decide.completions] == [Ending.NOT_SENT]
    assert running.upstream.connections == 0


async def test_one_cancelled_stream_of_a_connection(start, hold) -> None:
    running = await start()
    running.decide.before = hold
    reader, writer = await running.tunnel(alpn=["h2"])
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    host = f"127.0.0.1:{running.upstream.port}"
    for stream, path in ((1, "/cancelled"), (3, "/kept")):
        connection.send_headers(
            stream, [(":method", "GET"), (":scheme", "https"), (":path", path), (":authority", host)], end_stream=True
        )
    writer.write(connection.data_to_send())
    first, second = await hold.held.get(), await hold.held.get()
    connection.reset_stream(1, 8)
    writer.write(connection.data_to_send())
    async with asyncio.timeout(30):
        await hold.abandoned.wait()
    assert (first.connected, second.connected) == (False, True)
    hold.go_on.set()
    async with asyncio.timeout(30):
        while not running.upstream.heads:
            await reader.read(65536)
    writer.close()
    await running.settled()
    assert [head.split()[1] for head in running.upstream.heads] == [b"/kept"]


async def test_an_unreachable_destination_was_not_sent(start, answer) -> None:
    running = await start()
    port = running.upstream.plain_port
    raw = "GET http://127.0.0.1:65009/ HTTP/1.1\r\nHost: 127.0.0.1:65009\r\nConnection: close\r\n\r\n"
    assert answer(await running.plain(raw.encode())).status == 502
    [completion] = running.decide.completions
    assert completion.ending is Ending.NOT_SENT
    assert port


async def test_an_upstream_that_cannot_be_verified_was_not_sent(start, answer) -> None:
    running = await start()
    # Its certificate is for 127.0.0.1 and localhost only.
    reader, writer = await running.tunnel(host="127.0.0.2")
    writer.write(running.get().replace(b"127.0.0.1", b"127.0.0.2"))
    received = answer(await reader.read(65536))
    writer.close()
    assert received.status == 502
    assert running.upstream.heads == []
    assert [completion.ending for completion in running.decide.completions] == [Ending.NOT_SENT]


async def test_stopping_settles_what_is_in_flight(start, hold) -> None:
    running = await start()
    running.decide.before = hold
    _, writer = await running.tunnel()
    writer.write(running.get())
    await hold.held.get()
    hold.go_on.set()
    _, events = await running.tunnel()
    events.write(running.get("/events"))
    async with asyncio.timeout(30):
        while len(running.upstream.heads) < 2:
            await asyncio.sleep(0.01)
    running.gate.stop()
    async with asyncio.timeout(30):
        while len(running.decide.completions) < 2:
            await asyncio.sleep(0.01)
    assert sorted(completion.ending for completion in running.decide.completions) == [Ending.COMPLETE, Ending.LEFT]
    writer.close()
    events.close()
