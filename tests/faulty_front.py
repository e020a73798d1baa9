"""A reverse proxy on loopback that breaks what passes through it, as services and networks do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

import httpx

from headgate.kernel.public_roots import public_roots
from tests.http_server import body_of, handling_server, send, send_head

_HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "content-encoding", "server", "date"}

_ANSWERS = {
    "refused": (403, "application/json", b'{"errors":["permission denied"],"__type":"AccessDeniedException"}'),
    "unavailable": (503, "text/html", b"<html>sealed</html>"),
    "not json": (200, "text/html", b"<html>"),
    "other json": (200, "application/json", b'["data", null]'),
}


class FaultyFront:
    """``fault``: what happens to each request from now on; None: nothing. ``asked``: how many have arrived."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.fault: str | None = None
        self.asked = 0
        self.url = ""
        self._ended = threading.Event()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked += 1
        content = body_of(request)
        if self.fault in _ANSWERS:
            send(request, *_ANSWERS[self.fault])
            return
        if self.fault == "silent":
            self._ended.wait(30)
            return
        # As asked, the host included: AWS signs it.
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP]
        answer = httpx.request(
            request.command, self.upstream + request.path, verify=public_roots(), headers=headers, content=content
        )
        if self.fault == "truncated":
            send_head(request, answer.status_code, "application/json", len(answer.content))
            request.wfile.write(answer.content[: len(answer.content) // 2])
        elif self.fault == "drip":
            send_head(request, answer.status_code, "application/json", len(answer.content))
            with suppress(OSError):  # the client has given up
                for at in range(len(answer.content)):
                    request.wfile.write(answer.content[at : at + 1])
                    self._ended.wait(0.2)
        else:
            send(request, answer.status_code, "application/json", answer.content)

    def close(self) -> None:
        self._ended.set()


@contextmanager
def faulty_front(upstream: str, port: int = 0) -> Iterator[FaultyFront]:
    front = FaultyFront(upstream)
    with handling_server(front.answer, port) as front.url:
        try:
            yield front
        finally:
            front.close()
