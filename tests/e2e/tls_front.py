"""TLS in front of a server that speaks plain HTTP: providers of models are reached over https."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.loop_in_thread import loop_in_thread


@contextmanager
def tls_front(url: str, certificate: Path) -> Iterator[str]:
    """An https address that leads to the server at ``url``."""
    server = urlsplit(url)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(server.hostname, server.port)
        await asyncio.gather(_pass_on(reader, behind_writer), _pass_on(behind_reader, writer))

    with loop_in_thread("tls-front") as loop:
        listening = asyncio.start_server(relay, "127.0.0.1", 0, ssl=tls)
        front = asyncio.run_coroutine_threadsafe(listening, loop).result(30)
        try:
            yield f"https://127.0.0.1:{front.sockets[0].getsockname()[1]}"
        finally:
            loop.call_soon_threadsafe(front.close)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until either side ends; then the other is closed too."""
    with suppress(OSError):
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
    writer.close()
