"""``python -m benchmarks.load.socket_upstream CERTIFICATE``: a WebSocket server that answers each message with itself.

It prints its port.
"""

import asyncio
import ssl
import sys

from websockets.asyncio.server import ServerConnection, serve


async def _talk(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def _main(certificate: str) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    async with serve(_talk, "127.0.0.1", 0, ssl=tls, compression=None) as server:
        [listening] = server.sockets
        print(listening.getsockname()[1], flush=True)
        await asyncio.Future()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
