"""An HTTP server on loopback in a thread of its own, for what is asked by code that waits or by other processes."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

type Answer = tuple[int, str, bytes]


@contextmanager
def http_server(answer: Callable[[str, bytes], Answer], port: int = 0) -> Iterator[str]:
    """Answers every request with what ``answer`` makes of its path and body: status, media type, content; yields the
    address."""
    with any_server(lambda _, path, body: answer(path, body), port) as url:
        yield url


@contextmanager
def any_server(
    answer: Callable[[str, str, bytes], Answer], port: int = 0, certificate: Path | None = None
) -> Iterator[str]:
    """The same, where the method matters too: it comes first. ``certificate``, with its key in PEM: over TLS."""

    def handle(request: BaseHTTPRequestHandler) -> None:
        send(request, *answer(request.command, request.path, body_of(request)))

    with handling_server(handle, port, certificate) as url:
        yield url


def body_of(request: BaseHTTPRequestHandler) -> bytes:
    return request.rfile.read(int(request.headers.get("content-length", "0")))


def send(request: BaseHTTPRequestHandler, status: int, media_type: str, content: bytes) -> None:
    send_head(request, status, media_type, len(content))
    request.wfile.write(content)


def send_head(request: BaseHTTPRequestHandler, status: int, media_type: str, length: int) -> None:
    request.send_response(status)
    request.send_header("content-type", media_type)
    request.send_header("content-length", str(length))
    request.end_headers()


@contextmanager
def handling_server(
    handle: Callable[[BaseHTTPRequestHandler], None], port: int = 0, certificate: Path | None = None
) -> Iterator[str]:
    """The same, for tests that read the whole request or send a malformed answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_any(self) -> None:
            handle(self)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_CONNECT = do_any  # noqa: N815 - the base class's names

        def log_message(self, *arguments: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"{'http' if certificate is None else 'https'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
