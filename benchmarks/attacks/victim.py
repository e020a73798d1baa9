"""A victim: allowed GETs at a steady rate, of which every fourth opens a tunnel of its own.

``python -m benchmarks.attacks.victim LOAD_AS_JSON`` prints one JSON object. Latencies count from when a request was
due, not from when it could be sent: one that waits for another is late too (coordinated omission).
"""

import asyncio
import json
import ssl
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.load.client import Load, open_tunnel

_TIMEOUT_SECONDS: Final = 30.0
_FRESH_EVERY: Final = 4

type _Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class _Seen:
    latencies_ms: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)

    def error(self, what: str) -> None:
        self.errors[what] = self.errors.get(what, 0) + 1


async def _ask(pair: _Pair, request: bytes) -> str:
    """The status of the answer, which is read to its end."""
    reader, writer = pair
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    at = lower.index(b"content-length:")
    await reader.readexactly(int(lower[at + 15 : lower.index(b"\r\n", at)]))
    return head[9:12].decode()


async def _request(load: Load, pool: list[_Pair], request: bytes, due: float, seen: _Seen, *, fresh: bool) -> None:
    pair: _Pair | None = None
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            pair = await open_tunnel(load) if fresh or not pool else pool.pop(0)
            status = await _ask(pair, request)
    except (OSError, EOFError, TimeoutError, ssl.SSLError) as error:
        seen.error(f"{type(error).__name__} {str(error)[:60]}".strip())
        if pair is not None:
            pair[1].transport.abort()
        return
    if status != "200":
        seen.error(status)
    seen.latencies_ms.append((time.perf_counter() - due) * 1000)
    if fresh:
        pair[1].transport.abort()
    else:
        pool.append(pair)


async def run(load: Load, rate: float) -> dict[str, Any]:
    pool = [await open_tunnel(load) for _ in range(load.connections)]
    request = f"GET {load.path} HTTP/1.1\r\nhost: 127.0.0.1:{load.target_port}\r\n\r\n".encode()
    seen, asked = _Seen(), []
    began = time.perf_counter()
    for number in range(int(load.seconds * rate)):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        fresh = number % _FRESH_EVERY == 0
        asked.append(asyncio.ensure_future(_request(load, pool, request, due, seen, fresh=fresh)))
    await asyncio.gather(*asked)
    for _, writer in pool:
        writer.transport.abort()
    return {"latencies_ms": sorted(seen.latencies_ms), "errors": seen.errors}


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    rate_per_second = options.pop("rate_per_second")
    print(json.dumps(asyncio.run(run(Load(**options), rate_per_second))))
