"""The WebSocket client of the tests: where a handshake has no answer, it says so."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.socket_client import opened
from tests.e2e.socket_server import serving
from tests.loop_in_thread import loop_in_thread


@contextmanager
def silent_server(certificate: Path) -> Iterator[str]:
    """It completes the handshake of TLS, reads, and answers nothing."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    with loop_in_thread("silent-server") as loop:
        listening = asyncio.start_server(read, "127.0.0.1", 0, ssl=tls)
        server = asyncio.run_coroutine_threadsafe(listening, loop).result(30)
        try:
            yield f"wss://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            loop.call_soon_threadsafe(server.close)


@pytest.mark.timeout(60)
def test_a_handshake_without_an_answer_ends(certificates: tuple[Path, Path]) -> None:
    trust = ssl.create_default_context(cafile=certificates[0])
    with (
        silent_server(certificates[1]) as url,
        pytest.raises(TimeoutError),
        opened(url, proxy=None, ssl=trust, open_timeout=1),
    ):
        pass


def test_session_tickets_that_come_meanwhile_lose_no_handshake(certificates: tuple[Path, Path]) -> None:
    trust = ssl.create_default_context(cafile=certificates[0])
    with serving(certificates[1], session_tickets=20) as server:
        for number in range(200):
            with opened(server.url, proxy=None, ssl=trust, open_timeout=20) as connection:
                connection.send(str(number))
                assert connection.recv(timeout=20) == str(number)
