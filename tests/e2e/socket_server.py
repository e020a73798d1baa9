"""A WebSocket server on loopback, over TLS: it answers what it was sent, and keeps it."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.free_port import free_port


@dataclass
class SocketServer:
    """``closes``: code and reason with which each connection ended, as the server saw it."""

    url: str
    received: list[str | bytes] = field(default_factory=list)
    closes: list[tuple[int, str]] = field(default_factory=list)
    pings: list[bytes] = field(default_factory=list)
    answers: dict[str, str | bytes] = field(default_factory=dict)
    """What is answered in place of the message itself."""

    def talk(self, connection: ServerConnection) -> None:
        try:
            for message in connection:
                self.received.append(message)
                answer = self.answers.get(message, message) if isinstance(message, str) else message
                connection.send(answer)
        except ConnectionClosed:
            pass
        frame = connection.protocol.close_rcvd
        if frame is not None:
            self.closes.append((frame.code, frame.reason))


@contextmanager
def serving(certificate: Path) -> Iterator[SocketServer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    port = free_port()
    started = SocketServer(f"wss://127.0.0.1:{port}")
    with serve(started.talk, "127.0.0.1", port, ssl=tls, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield started
        finally:
            server.shutdown()
            thread.join(30)
