"""What a client does not take is not fetched: neither over HTTP/1, nor over HTTP/2 with a window of zero."""

import asyncio

import h2.config
import h2.connection
import h2.events
import pytest
from h2.settings import SettingCodes

_SIZE = 64 << 20
_BOUND = 24 << 20
"""Far below ``_SIZE``, and above what sockets and buffers of both sides take on the way."""


async def _stays(running) -> int:
    """What the server could write, once it has written nothing for a while."""
    before = -1
    async with asyncio.timeout(20):
        while running.upstream.written_bytes != before or before == 0:
            before = running.upstream.written_bytes
            await asyncio.sleep(0.5)
    return before


async def test_over_http1(start) -> None:
    running = await start()
    reader, writer = await running.tunnel()
    writer.write(running.get(f"/large/{_SIZE}"))
    assert await _stays(running) < _BOUND
    received = 0
    while data := await reader.read(1 << 20):
        received += len(data)
    assert received > _SIZE
    writer.close()


@pytest.fixture
def http2_client():
    return h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))


def _ask(client, running, stream: int, path: str) -> bytes:
    authority = f"127.0.0.1:{running.upstream.port}"
    fields = [(":method", "GET"), (":scheme", "https"), (":path", path), (":authority", authority)]
    client.send_headers(stream, fields, end_stream=True)
    return client.data_to_send()


async def test_over_http2(start, http2_client) -> None:
    running = await start()
    reader, writer = await running.tunnel(alpn=["h2"])
    http2_client.initiate_connection()
    http2_client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    writer.write(_ask(http2_client, running, 1, f"/large/{_SIZE}"))
    assert await _stays(running) < _BOUND

    # Another request of the same connection is answered meanwhile.
    writer.write(_ask(http2_client, running, 3, "/empty"))
    received, answered = 0, False
    async with asyncio.timeout(30):
        while received < _SIZE:
            for event in http2_client.receive_data(await reader.read(1 << 20)):
                if isinstance(event, h2.events.ResponseReceived) and event.stream_id == 3:
                    answered = True
                    http2_client.increment_flow_control_window(1 << 20, 1)
                elif isinstance(event, h2.events.DataReceived):
                    received += len(event.data)
                    http2_client.acknowledge_received_data(len(event.data), 1)
            writer.write(http2_client.data_to_send())
            await asyncio.sleep(0)
    assert answered
    writer.close()
    await running.settled()
    assert [one.size_bytes for one in running.decide.completions if one.size_bytes] == [_SIZE]


async def test_a_client_that_leaves_while_it_takes_nothing(start, http2_client) -> None:
    running = await start()
    _, writer = await running.tunnel(alpn=["h2"])
    http2_client.initiate_connection()
    http2_client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    writer.write(_ask(http2_client, running, 1, f"/large/{_SIZE}"))
    await _stays(running)
    writer.transport.abort()
    await running.settled()
    assert [one.status for one in running.decide.completions] == [200]


async def test_a_head_that_does_not_end_is_not_kept(start, answer) -> None:
    running = await start()
    assert answer(await running.secure(running.get("/no-head/2"), wait_seconds=20)).status == 502
    [completion] = running.decide.completions
    assert "the head of the answer is larger than" in str(completion.error)
