"""POST /v1/actions over keep-alive connections, as fast as they are answered or at an offered rate.

``python -m benchmarks.load.api_client '{"port": …}'`` prints one JSON object. Only loopback is ever a target.
At an offered rate the latency counts from when a request was due, so that a stall is not left out of the figure
(coordinated omission).
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ApiLoad:
    port: int
    key: str
    connections: int
    seconds: float
    offered_per_second: float = 0.0  # 0: closed loop
    warm_up_seconds: float = 1.0


@dataclass
class Tally:
    latencies_us: list[int] = field(default_factory=list)
    errors: int = 0


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = b""
        self._answered: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def ask(self, request: bytes) -> "asyncio.Future[int]":
        self._answered = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._answered

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or self._answered is None:
            return
        head = self._buffer[:end].lower()
        size = int(head[head.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0])
        if len(self._buffer) >= end + 4 + size:
            self._buffer = b""
            self._answered.set_result(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(ConnectionError("closed"))


def request_of(load: ApiLoad) -> bytes:
    body = json.dumps(
        {"tool": "crm", "operation": "get_customer", "params": {"id": 4711, "fields": ["name", "city", "orders"]}}
    ).encode()
    head = f"POST /v1/actions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-agent-key: {load.key}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def run(load: ApiLoad) -> Tally:
    loop = asyncio.get_running_loop()
    request, tally = request_of(load), Tally()
    free: asyncio.Queue[_Connection] = asyncio.Queue()
    for _ in range(load.connections):
        _, connection = await loop.create_connection(_Connection, "127.0.0.1", load.port)
        free.put_nowait(connection)
    start = time.perf_counter() + load.warm_up_seconds
    end = start + load.seconds

    async def one(connection: _Connection, due: float) -> None:
        status = await connection.ask(request)
        if due >= start:
            tally.latencies_us.append(int((time.perf_counter() - due) * 1e6))
            tally.errors += status != 201
        free.put_nowait(connection)

    async def closed_loop() -> None:
        connection = free.get_nowait()
        while (now := time.perf_counter()) < end:
            await one(connection, now)
            free.get_nowait()

    if not load.offered_per_second:
        await asyncio.gather(*(closed_loop() for _ in range(load.connections)))
        return tally
    tasks: set[asyncio.Task[None]] = set()
    due = time.perf_counter()
    while due < end:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(one(await free.get(), due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        due += 1 / load.offered_per_second
    await asyncio.gather(*tasks)
    return tally


if __name__ == "__main__":
    load = ApiLoad(**json.loads(sys.argv[1]))
    tally = asyncio.run(run(load))
    ordered = sorted(tally.latencies_us)
    print(
        json.dumps(
            {
                "requests": len(ordered),
                "errors": tally.errors,
                "rps": len(ordered) / load.seconds,
                "p50_ms": ordered[len(ordered) // 2] / 1000,
                "p99_ms": ordered[int(len(ordered) * 0.99)] / 1000,
            }
        )
    )
