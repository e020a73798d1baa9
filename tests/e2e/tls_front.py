"""TLS in front of a server that speaks plain HTTP: providers of models are reached over https."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit


@contextmanager
def tls_front(url: str, certificate: Path) -> Iterator[str]:
    """An https address that leads to the server at ``url``."""
    server = urlsplit(url)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(server.hostname, server.port)
        await asyncio.gather(_pass_on(reader, behind_writer), _pass_on(behind_reader, writer))

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="tls-front", daemon=True)
    thread.start()
    listening = asyncio.start_server(relay, "127.0.0.1", 0, ssl=tls)
    front = asyncio.run_coroutine_threadsafe(listening, loop).result(30)
    try:
        yield f"https://127.0.0.1:{front.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(_close(front), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until either side ends; then the other is closed too."""
    with suppress(OSError):
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def _close(front: asyncio.Server) -> None:
    """Ends the connections that are left, and what relays them."""
    front.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
