"""Rules 1 and 2: whatever a hook raises, wherever it stands, nothing undecided is forwarded."""

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from mitmproxy.exceptions import AddonHalt
from mitmproxy.http import HTTPFlow

from addons.verdict import allow, is_open

CAUSES: list[Callable[[], BaseException]] = [
    lambda: ValueError("boom"),
    asyncio.CancelledError,
    AddonHalt,
    GeneratorExit,
    TimeoutError,
    MemoryError,
    StopIteration,
    lambda: BaseExceptionGroup("several", [asyncio.CancelledError()]),
]


class Exploding:
    """An addon in which one hook raises; ``waits`` makes it a coroutine that has been suspended before."""

    def __init__(self, hook: str, cause: Callable[[], BaseException], *, waits: bool) -> None:
        self.calls = 0

        def explode(_: Any) -> None:
            self.calls += 1
            raise cause()

        async def explode_later(data: Any) -> None:
            await asyncio.sleep(0.001)
            explode(data)

        setattr(self, hook, explode_later if waits else explode)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: type(cause()).__name__)
@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("hook", ["requestheaders", "request"])
@pytest.mark.parametrize("place", ["before", "after"])
async def test_request_hooks(start, answer, hook, cause, waits, place) -> None:
    exploding = Exploding(hook, cause, waits=waits)
    running = await start(**{"before": [exploding]}) if place == "before" else await start(exploding)
    received = answer(await running.secure(running.get("/a", method="POST", headers="content-length: 1\r\n", body="x")))
    assert exploding.calls == 1
    assert received.status == 503
    assert json.loads(received.body)["error"]["details"] == {"cause": "gate_failed"}
    assert running.upstream.connections == 0
    assert running.upstream.heads == []


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: type(cause()).__name__)
@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
async def test_connect_hook(start, answer, cause, waits) -> None:
    exploding = Exploding("http_connect", cause, waits=waits)
    running = await start(exploding)
    received = answer(
        await running.plain(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % running.upstream.port, wait_seconds=1)
    )
    assert received.status == 503
    assert json.loads(received.body)["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert running.upstream.connections == 0


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: type(cause()).__name__)
@pytest.mark.parametrize("place", ["before", "after"])
async def test_server_connect_hook(start, answer, cause, place) -> None:
    exploding = Exploding("server_connect", cause, waits=False)
    running = await start(**{"before": [exploding]}) if place == "before" else await start(exploding)
    received = answer(await running.secure(running.get("/a")))
    assert exploding.calls == 1
    assert received.status == 502
    assert running.upstream.connections == 0
    assert [completion.ending.value for completion in running.decide.completions] == ["not_sent"]


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: type(cause()).__name__)
@pytest.mark.parametrize(
    ("hook", "waits"),
    [("responseheaders", False), ("response", False), ("response", True), ("server_connected", False)],
)
async def test_hooks_after_the_decision_close_the_connection(start, answer, hook, waits, cause) -> None:
    running = await start(Exploding(hook, cause, waits=waits))
    received = await running.secure(running.get("/large/100000"))
    assert not received or not answer(received).complete or hook == "response"
    await running.settled()
    assert len(running.decide.completions) == 1


@pytest.mark.parametrize("hook", ["client_connected", "next_layer", "tls_start_client", "tls_clienthello"])
@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: type(cause()).__name__)
async def test_hooks_before_any_request(start, hook, cause) -> None:
    running = await start(Exploding(hook, cause, waits=False))
    with pytest.raises((OSError, EOFError)):
        await running.tunnel()
    assert running.upstream.connections == 0


async def test_nobody_decides(start, answer) -> None:
    class Nobody:
        pass

    running = await start(decide=Nobody())
    received = answer(
        await running.plain(
            b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n"
            % ((running.upstream.plain_port,) * 2)
        )
    )
    assert received.status == 503
    assert "no part of the gate decided" in received.body.decode()
    assert running.upstream.connections == 0


class TakesTheLatchAway:
    """A bug: the response is removed without an allow."""

    def request(self, flow: HTTPFlow) -> None:
        flow.response = None


class Streams(TakesTheLatchAway):
    """A bug: the request streams, so that mitmproxy would send it before it is decided."""

    def requestheaders(self, flow: HTTPFlow) -> None:
        flow.response = None
        flow.request.stream = True


class StreamsBehindTheLatch:
    def requestheaders(self, flow: HTTPFlow) -> None:
        flow.request.stream = True


class AllowsTooEarly:
    """A bug: allowed before the whole request is there."""

    def requestheaders(self, flow: HTTPFlow) -> None:
        if is_open(flow):
            allow(flow)
        flow.response = None
        flow.request.stream = True


class Connects:
    def http_connect(self, flow: HTTPFlow) -> None:
        allow(flow)


@pytest.mark.parametrize("bug", [TakesTheLatchAway(), Streams(), StreamsBehindTheLatch(), AllowsTooEarly()])
async def test_a_response_that_is_taken_away_forwards_nothing(start, bug) -> None:
    running = await start(bug, decide=Connects())
    received = await running.secure(
        running.get("/a", method="POST", headers="content-length: 1\r\n", body="x"), wait_seconds=2
    )
    assert b" 200 " not in received[:20]
    assert running.upstream.connections == 0


async def test_a_refusal_is_final(start, answer) -> None:
    class AllowsAnyway:
        def request(self, flow: HTTPFlow) -> None:
            allow(flow)

    running = await start(AllowsAnyway())
    request = running.get("/../a")
    assert answer(await running.secure(request)).status == 503  # allowing what is refused is a failure of the gate
    assert running.upstream.connections == 0


async def test_lazy_nothing_is_dialled_for_a_refused_request(start, answer) -> None:
    running = await start(decide=Connects())
    assert answer(await running.secure(running.get("/a"))).status == 503
    assert running.upstream.connections == 0


async def test_a_hook_that_returns_something_denies(start, answer) -> None:
    class Wrapped:
        def __init__(self) -> None:
            self.request = self._decide

        def _decide(self, flow: HTTPFlow) -> object:
            return object()

    running = await start(Wrapped())
    assert answer(await running.secure(running.get("/a"))).status == 503
    assert running.upstream.connections == 0


async def test_a_server_that_resets_the_connection_before_it_is_used(start, answer, monkeypatch) -> None:
    """Its address cannot be asked for any more, and nothing may wait for it."""
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect

    async def connect_slowly(connecting: socket.socket, address: Any) -> None:
        await connect(connecting, address)
        await asyncio.sleep(0.1)

    def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    running = await start()
    resetting = await asyncio.start_server(reset, "127.0.0.1", 0)
    address = f"127.0.0.1:{resetting.sockets[0].getsockname()[1]}"
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    monkeypatch.setattr(loop, "sock_connect", connect_slowly)
    for _ in range(2):
        writer.write(f"GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
        received = answer(await asyncio.wait_for(reader.readuntil(b'"}}'), 10))
        assert (received.status, "UPSTREAM_FAILED" in received.body.decode()) == (502, True)
    assert [one.ending.value for one in running.decide.completions] == ["not_sent"] * 2
    writer.close()
    await running.settled()
    resetting.close()
