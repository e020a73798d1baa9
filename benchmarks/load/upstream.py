"""An HTTP or HTTPS server that costs as little as Python allows: what is measured is what stands before it.

``python -m benchmarks.load.upstream [CERTIFICATE]`` prints its port and serves until it is killed. ``/bytes/N``
answers N bytes, whatever the method; request bodies are read by their Content-Length and dropped.
"""

import asyncio
import ssl
import sys

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: %d\r\n\r\n"


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body_left = 0
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._body_left:
            taken = min(self._body_left, len(data))
            self._body_left -= taken
            data = data[taken:]
            if self._body_left:
                return
            self._write(self._answer)
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[: end + 4])
            del self._buffer[: end + 4]
            size = int(head.split(b"/bytes/", 1)[1].split(b" ", 1)[0])
            self._answer = _HEAD % size + b"x" * size
            lower = head.lower()
            at = lower.find(b"content-length:")
            self._body_left = 0 if at < 0 else int(lower[at + 15 : lower.index(b"\r\n", at)])
            taken = min(self._body_left, len(self._buffer))
            del self._buffer[:taken]
            self._body_left -= taken
            if self._body_left:
                return
            self._write(self._answer)

    def _write(self, data: bytes) -> None:
        assert isinstance(self._transport, asyncio.WriteTransport)
        self._transport.write(data)


async def serve(certificate: str | None) -> None:
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0, ssl=context, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1] if len(sys.argv) > 1 else None))
