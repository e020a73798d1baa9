"""A relay between a part and its PostgreSQL that keeps the answer of one commit to itself.

PostgreSQL tells after each transaction that it is idle (ReadyForQuery, its manual, 54.7). A connection on which a
marked statement has come is cut in place of that message: the commit is done, and nobody hears of it.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

_IDLE: Final = b"Z\x00\x00\x00\x05I"


class CuttingRelay:
    """``cut_next(words)``: the next transaction with these bytes in it is cut; ``cuts`` counts those that were."""

    def __init__(self, dsn: str) -> None:
        self._server = conninfo_to_dict(dsn)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._mark: bytes | None = None
        self._lock = threading.Lock()
        self.cuts = 0
        user, password, name = (quote(str(self._server[one]), safe="") for one in ("user", "password", "dbname"))
        here = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.dsn = f"postgresql://{user}:{password}@{here}/{name}?sslmode=disable&gssencmode=disable"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_next(self, words: bytes) -> None:
        self._mark = words

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = self._connect()
                marked = threading.Event()
                threading.Thread(target=self._requests, args=(client, server, marked), daemon=True).start()
                threading.Thread(target=self._answers, args=(server, client, marked), daemon=True).start()

    def _connect(self) -> socket.socket:
        host, port = str(self._server["host"]), int(str(self._server.get("port", 5432)))
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _requests(self, client: socket.socket, server: socket.socket, marked: threading.Event) -> None:
        before = b""
        with suppress(OSError):
            while piece := client.recv(1 << 16):
                with self._lock:
                    if self._mark is not None and self._mark in before + piece:
                        self._mark = None
                        marked.set()
                before = piece[-1024:]
                server.sendall(piece)
        _end(client, server)

    def _answers(self, server: socket.socket, client: socket.socket, marked: threading.Event) -> None:
        before = b""
        with suppress(OSError):
            while piece := server.recv(1 << 16):
                if marked.is_set() and _IDLE in before + piece:
                    self.cuts += 1
                    break
                before = piece[-len(_IDLE) :]
                client.sendall(piece)
        _end(client, server)


def _end(*connections: socket.socket) -> None:
    for one in connections:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def cutting_relay(dsn: str) -> Iterator[CuttingRelay]:
    relay = CuttingRelay(dsn)
    try:
        yield relay
    finally:
        relay.close()
