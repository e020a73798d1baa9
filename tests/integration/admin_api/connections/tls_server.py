"""A WSGI application behind TLS, in a thread of its own."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's own name
        pass


@contextmanager
def tls_server(application: Any, context: ssl.SSLContext) -> Iterator[int]:
    """Its port, on localhost."""
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Quiet, ssl_context=context)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
