"""Answers without an end do not keep others of the same client waiting."""

import asyncio

import h2.config
import h2.connection
import h2.events

_STREAMS = 12


async def test_event_streams_over_one_connection_of_http2(start) -> None:
    """The server speaks HTTP/1.1, so each of them takes a connection to it."""
    running = await start()
    reader, writer = await running.tunnel(alpn=["h2"])
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    authority = f"127.0.0.1:{running.upstream.port}"
    paths = {1 + 2 * number: "/events" for number in range(_STREAMS)} | {1 + 2 * _STREAMS: "/"}
    for stream_id, path in paths.items():
        fields = [(":method", "GET"), (":scheme", "https"), (":path", path), (":authority", authority)]
        client.send_headers(stream_id, fields, end_stream=True)
    writer.write(client.data_to_send())
    answered: set[int] = set()
    async with asyncio.timeout(10):
        while answered != set(paths):
            data = await reader.read(65536)
            assert data
            answered |= {one.stream_id for one in client.receive_data(data) if isinstance(one, h2.events.DataReceived)}
            writer.write(client.data_to_send())
    running.upstream.gate.set()
    writer.close()
    await running.settled()
