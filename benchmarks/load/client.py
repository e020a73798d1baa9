"""Keep-alive load through an HTTP proxy: N tunnels, each sending its next request when the last is answered.

``python -m benchmarks.load.client '{"proxy": …}'`` prints one JSON object. Only loopback is ever a target.
"""

import asyncio
import base64
import json
import ssl
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Load:
    """``request`` is sent as it is, with ``{n}`` in the path counting up (0 for none)."""

    proxy_host: str
    proxy_port: int
    key: str
    target_port: int
    ca_file: str
    connections: int
    seconds: float
    method: str = "GET"
    path: str = "/bytes/1024"
    body_bytes: int = 0
    warm_up_seconds: float = 0.5


@dataclass
class Result:
    requests: int = 0
    errors: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    latencies_us: list[int] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """``refusals``: of the errors, how many answers had which status line; the gate's says why."""
        ordered = sorted(self.latencies_us) or [0]
        pick = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))]  # noqa: E731 - two uses
        return {
            "requests": self.requests,
            "errors": self.errors,
            "refusals": self.refusals,
            "rps": self.requests / self.seconds if self.seconds else 0.0,
            "p50_ms": pick(0.50) / 1000,
            "p99_ms": pick(0.99) / 1000,
        }


class _Tunnel(asyncio.Protocol):
    """One connection: counts bytes of the answer instead of parsing it anew each time."""

    def __init__(self, request: bytes, result: Result, window: tuple[float, float]) -> None:
        self._request = request
        self._result = result
        self._start, self._end = window
        self._left = -1
        self._buffer = b""
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self._left < 0:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._buffer[:end].lower()
            if b" 200 " not in head[:16]:
                self._result.errors += 1
                self._result.refusals[self._buffer.partition(b"\r\n")[0].decode("latin-1")[:60]] += 1
            at = head.index(b"content-length:")
            self._left = int(head[at + 15 :].split(b"\r\n", 1)[0]) - (len(self._buffer) - end - 4)
            self._buffer = b""
        else:
            self._left -= len(data)
        if self._left == 0:
            self._left = -1
            self._answered()

    def _answered(self) -> None:
        now = time.perf_counter()
        if self._start <= now < self._end:
            self._result.requests += 1
            self._result.latencies_us.append(int((now - self._sent_at) * 1e6))
        if now < self._end:
            self._send()
        elif not self.finished.done():
            self.finished.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.finished.done():
            self._result.errors += 1
            self.finished.set_result(None)


async def open_tunnel(load: Load) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """CONNECT and TLS, as curl does it."""
    reader, writer = await asyncio.open_connection(load.proxy_host, load.proxy_port, limit=1 << 22)
    credentials = base64.b64encode(f"agent:{load.key}".encode()).decode()
    target = f"127.0.0.1:{load.target_port}"
    writer.write(
        f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {credentials}\r\n\r\n".encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head[:16]:
        raise ConnectionError(head.decode(errors="replace"))
    context = ssl.create_default_context(cafile=load.ca_file)
    await writer.start_tls(context, server_hostname="127.0.0.1")
    return reader, writer


async def run(load: Load) -> Result:
    tunnels = [await open_tunnel(load) for _ in range(load.connections)]
    body = b""
    headers = f"host: 127.0.0.1:{load.target_port}\r\naccept: */*\r\nuser-agent: load/1\r\n"
    if load.body_bytes:
        filler = {
            "items": [{"sku": f"item-{n}", "quantity": n, "note": "x" * 40} for n in range(load.body_bytes // 80)]
        }
        body = json.dumps(filler).encode().ljust(load.body_bytes)
        headers += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
    request = f"{load.method} {load.path} HTTP/1.1\r\n{headers}\r\n".encode() + body
    result = Result()
    now = time.perf_counter()
    window = (now + load.warm_up_seconds, now + load.warm_up_seconds + load.seconds)
    running = []
    for _, writer in tunnels:
        tunnel = _Tunnel(request, result, window)
        transport = writer.transport
        transport.set_protocol(tunnel)
        tunnel.begin(transport)
        running.append(tunnel.finished)
    await asyncio.gather(*running)
    for _, writer in tunnels:
        writer.transport.abort()
    result.seconds = load.seconds
    return result


if __name__ == "__main__":
    import uvloop

    print(json.dumps(uvloop.run(run(Load(**json.loads(sys.argv[1])))).summary()))
