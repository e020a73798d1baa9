"""A tunnel on the bare connection takes the place of the layers that opened it; inside TLS to the proxy it does not."""

import asyncio
import ssl

import pytest
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.proxy.layers import ServerTLSLayer, modes


class Memory:
    """TLS of a client whose bytes the test carries itself."""

    def __init__(self, trust: ssl.SSLContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = trust.wrap_bio(self._incoming, self._outgoing, server_hostname="127.0.0.1")
        self._reader, self._writer = reader, writer

    def hello(self) -> bytes:
        with pytest.raises(ssl.SSLWantReadError):
            self._tls.do_handshake()
        return self._outgoing.read()

    async def shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._move()
            else:
                return

    async def ask(self, request: bytes, *, until: bytes | None = None) -> bytes:
        """What is answered, up to ``until`` or until the other end closes."""
        self._tls.write(request)
        received = b""
        while until is None or until not in received:
            try:
                piece = self._tls.read(65536)
            except ssl.SSLWantReadError:
                if not await self._move():
                    return received
            except ssl.SSLError:  # the end came without a word, as mitmproxy closes
                return received
            else:
                received += piece
                if not piece:
                    return received
        return received

    async def _move(self) -> bool:
        self._writer.write(self._outgoing.read())
        data = await asyncio.wait_for(self._reader.read(65536), 20)
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
        return bool(data)


def layers_in_charge(running) -> list[object]:
    """For each connection, whoever is asked about its next event."""
    connections = [connection for connection, _ in running.gate.listener._connections.values()]
    return [one.layer.layer if isinstance(one.layer, NextLayer) else one.layer for one in connections]


def connect_to(running) -> bytes:
    target = f"127.0.0.1:{running.upstream.port}"
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


async def test_what_comes_through_a_tunnel_is_not_passed_through_what_opened_it(start, answer) -> None:
    running = await start()
    reader, writer = await running.tunnel()
    [layer] = layers_in_charge(running)
    assert type(layer) is ServerTLSLayer
    for _ in range(2):
        writer.write(running.get().replace(b"Connection: close\r\n", b""))
        assert answer(await reader.readuntil(b"hello")).status == 200
    assert len(running.upstream.heads) == 2
    assert running.upstream.connections == 1
    writer.close()
    await running.settled()


async def test_a_handshake_that_comes_with_the_connect(start, answer) -> None:
    """Its first bytes are read with the request for the tunnel, before there is one."""
    running = await start()
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    memory = Memory(running.trust, reader, writer)
    writer.write(connect_to(running) + memory.hello())
    assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    await memory.shake_hands()
    assert answer(await memory.ask(running.get())).body == b"hello"
    writer.close()
    await running.settled()


@pytest.mark.parametrize("through_tunnel", [True, False])
async def test_a_handshake_whose_first_bytes_come_one_by_one(start, answer, through_tunnel: bool) -> None:
    """The first three bytes of a record of TLS tell it from HTTP."""
    running = await start()
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    if through_tunnel:
        writer.write(connect_to(running))
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    memory = Memory(running.trust, reader, writer)
    hello = memory.hello()
    for index in range(4):
        writer.write(hello[index : index + 1])
        await asyncio.sleep(0.05)
    writer.write(hello[4:])
    await memory.shake_hands()
    if through_tunnel:
        assert answer(await memory.ask(running.get())).body == b"hello"
    else:
        assert b"HTTP/1.1 200" in await memory.ask(connect_to(running), until=b"\r\n\r\n")
    writer.close()
    await running.settled()


async def test_a_tunnel_inside_tls_to_the_proxy(start, answer) -> None:
    running = await start()
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", running.port, ssl=running.trust, server_hostname="127.0.0.1"
    )
    memory = Memory(running.trust, reader, writer)
    writer.write(connect_to(running))
    assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    writer.write(memory.hello())
    await memory.shake_hands()
    [layer] = layers_in_charge(running)
    assert type(layer) is modes.HttpProxy
    assert answer(await memory.ask(running.get())).body == b"hello"
    writer.close()
    await running.settled()


async def test_a_tunnel_that_is_refused_stays_with_the_layers_that_refused_it(start) -> None:
    running = await start()
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(b"CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: 127.0.0.1:25\r\n\r\n")
    assert b" 200 " not in await reader.readuntil(b"\r\n\r\n")
    assert [type(one) for one in layers_in_charge(running)] in ([modes.HttpProxy], [])
    writer.close()
    await running.settled()
