"""An ``ApiClient`` and, on loopback, the server that answers it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import httpx

from headgate.cli.api_client import ApiClient
from headgate.cli.target import Target
from headgate.kernel.secrets import Secret
from tests.http_server import body_of, handling_server


@contextmanager
def answering_api(answer: Callable[[httpx.Request], httpx.Response], credential: str = "t") -> Iterator[ApiClient]:
    """Requests and answers as httpx has them, because tests read and write these shortly."""

    def handle(request: BaseHTTPRequestHandler) -> None:
        url = f"http://{request.headers['host']}{request.path}"
        headers = list(request.headers.items())
        answered = answer(httpx.Request(request.command, url, headers=headers, content=body_of(request)))
        request.send_response(answered.status_code)
        for name, value in answered.headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(answered.content)

    with handling_server(handle) as url:
        yield ApiClient(Target(url, Secret(credential)))
