"""Viewers of live streams: one process that reads many of them and notes when each decision arrived.

``python -m benchmarks.load.viewers '{"port": …}'`` prints a line when all streams are open, and one JSON object when
its standard input ends. Only loopback is ever a target. Times are of the monotonic clock, which all processes share.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_APPROVED: Final = re.compile(rb"event: (?:approval\.approved|action)\ndata: ([^\n]*)\n")


@dataclass(frozen=True)
class Viewers:
    """``paths``: taken in turn. ``cookie``: a session's."""

    port: int
    cookie: str
    paths: list[str]
    count: int


@dataclass
class Seen:
    """``arrivals``: of an approved request, how many viewers have heard of it, and when the last did."""

    opened: int = 0
    bytes: int = 0
    ended: int = 0
    arrivals: dict[str, tuple[int, float]] = field(default_factory=dict)


class _Stream(asyncio.Protocol):
    def __init__(self, seen: Seen, opened: Callable[[], None]) -> None:
        self._seen = seen
        self._opened = opened
        self._buffer = b""
        self._told: set[str] = set()

    def data_received(self, data: bytes) -> None:
        at = time.monotonic()
        if b"\n: open\n" in data:
            self._opened()
        self._seen.bytes += len(data)
        self._seen.ended += data.count(b"event: feed.ended")
        self._buffer += data
        end = 0
        for match in _APPROVED.finditer(self._buffer):
            end = match.end()
            body = json.loads(match[1])
            approval_id = body.get("approval_id")
            if approval_id is None or body.get("status", "approved") != "approved" or approval_id in self._told:
                continue
            self._told.add(approval_id)
            count, _ = self._seen.arrivals.get(approval_id, (0, 0.0))
            self._seen.arrivals[approval_id] = (count + 1, at)
        self._buffer = self._buffer[end:]


async def _view(viewers: Viewers) -> Seen:
    loop, seen, transports = asyncio.get_running_loop(), Seen(), []
    all_open = asyncio.Event()

    def opened() -> None:
        seen.opened += 1
        if seen.opened == viewers.count:
            all_open.set()

    for number in range(viewers.count):
        path = viewers.paths[number % len(viewers.paths)]
        transport, _ = await loop.create_connection(lambda: _Stream(seen, opened), "127.0.0.1", viewers.port)
        host = f"127.0.0.1:{viewers.port}"
        transport.write(f"GET {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {viewers.cookie}\r\n\r\n".encode())
        transports.append(transport)
        await asyncio.sleep(0.005)
    await all_open.wait()
    print(json.dumps({"opened": seen.opened}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for transport in transports:
        transport.close()
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_view(Viewers(**json.loads(sys.argv[1])))).__dict__))
