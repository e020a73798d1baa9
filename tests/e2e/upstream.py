"""A real HTTPS server on loopback that keeps what really reached it."""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True)
class Received:
    """One request as it arrived. ``at`` is this machine's clock, in seconds since the epoch."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    upstream: "Upstream"

    def process_request_thread(self, request, client_address) -> None:
        # The handshake is made here, in the connection's own thread: a client that is slow delays nobody else.
        if self.upstream.tls is not None:
            try:
                request.settimeout(30)
                request = self.upstream.tls.wrap_socket(request, server_side=True)
            except OSError:
                self.shutdown_request(request)
                return
        with self.upstream.lock:
            self.upstream.connections += 1
        super().process_request_thread(request, client_address)

    def handle_error(self, request, client_address) -> None:
        """A client that went away is what some tests are about."""


class Upstream:
    """``/slow/…`` is answered when ``go_on`` is set; a path of ``pages`` with its body and headers; everything else at
    once, with what was received and the query.

    Without a certificate it speaks plain HTTP.
    """

    def __init__(self, certificate: Path | None, port: int = 0) -> None:
        self.lock = threading.Lock()
        self.connections = 0
        self.received: list[Received] = []
        self.pages: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.go_on = threading.Event()
        self.tls: ssl.SSLContext | None = None
        if certificate is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate)
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def do_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                received = Received(self.command, self.path, headers, body, time.time())
                with upstream.lock:
                    upstream.received.append(received)
                if self.path.startswith("/slow/"):
                    upstream.go_on.wait(60)
                answer = json.dumps({"method": self.command, "path": self.path, "size": len(body)}).encode()
                self.send_response(404 if self.path.startswith("/missing/") else 200)
                answer, fields = upstream.pages.get(self.path, (answer, {"content-type": "application/json"}))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_any  # noqa: N815 - the base class's names

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                """Silent: ``received`` tells."""

        self._server = _Server(("127.0.0.1", port), Handler)
        self._server.upstream = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="upstream", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self.port}"

    def of(self, path: str) -> list[Received]:
        """What arrived at this path; a query is not looked at."""
        with self.lock:
            return [one for one in self.received if one.path.partition("?")[0] == path]

    def stop(self) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(certificate: Path | None, port: int = 0) -> Iterator[Upstream]:
    upstream = Upstream(certificate, port)
    try:
        yield upstream
    finally:
        upstream.stop()
