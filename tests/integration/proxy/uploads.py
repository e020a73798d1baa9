"""Many uploads at once, from a process of its own: ``python uploads.py PROXY_PORT UPSTREAM_PORT COUNT BYTES``.

Opens all connections first, then sends on all of them, and prints how many answers had which status, as JSON.
"""

import asyncio
import json
import resource
import sys
from collections import Counter

_AT_ONCE = 200


async def main(proxy_port: int, upstream_port: int, count: int, size: int) -> None:
    connections = []
    for start in range(0, count, _AT_ONCE):
        opening = (asyncio.open_connection("127.0.0.1", proxy_port) for _ in range(min(_AT_ONCE, count - start)))
        connections += await asyncio.gather(*opening)
    host = f"127.0.0.1:{upstream_port}"
    head = f"POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
    request = head.encode() + bytes(size)
    sys.stdout.write("open\n")
    sys.stdout.flush()
    statuses = Counter(await asyncio.gather(*(_upload(*connection, request) for connection in connections)))
    sys.stdout.write(json.dumps(statuses))


async def _upload(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> str:
    try:
        writer.write(request)
        line = await reader.readline()
    except ConnectionError:
        return "lost"
    finally:
        writer.close()
    return line.split()[1].decode() if line else "closed"


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main(*map(int, sys.argv[1:])))
