"""The services that the demonstration's agent calls, on loopback: invoices, and completions of a model."""

import json
import ssl
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from headgate.demo.model_provider import completion_events

_BETWEEN_EVENTS_SECONDS: Final = 0.05
_INVOICES: Final = {"42": {"id": "42", "to": "Acme Ltd", "amount": 1200}}


class InvoiceService:
    """Answers GET, POST and DELETE of /invoices, streams completions, and lists the requests that reached it."""

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
                if (events := completion_events(self.path)) is not None:
                    self._stream(list(events))
                    return
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

            def _stream(self, events: Sequence[bytes]) -> None:
                """Chunked; the end comes with the last event, at which clients stop reading."""
                service.received.append(f"{self.command} {self.path}")
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for number, event in enumerate(events, 1):
                    end = b"0\r\n\r\n" if number == len(events) else b""
                    self.wfile.write(b"%x\r\n%b\r\n%b" % (len(event), event, end))
                    time.sleep(_BETWEEN_EVENTS_SECONDS)

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
