"""The tool that the demonstration's agent calls: a small HTTPS service of invoices, on loopback."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

_INVOICES: Final = {"42": {"id": "42", "to": "Acme Ltd", "amount": 1200}}


class InvoiceService:
    """Answers GET, POST and DELETE of /invoices, and counts what really reached it."""

    def __init__(self, certificate: Path) -> None:
        self.received: list[str] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(200, {"invoices": list(_INVOICES.values())})

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(size))
                self._answer(201, {"id": "43", **body})

            def do_DELETE(self) -> None:
                self._answer(200, {"deleted": self.path})

            def _answer(self, status: int, body: dict[str, object]) -> None:
                service.received.append(f"{self.command} {self.path}")
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                """Silent: the story tells what arrived."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, name="demo-service", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
