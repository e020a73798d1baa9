"""Sends a command's calls by the standard library's HTTP client.

httpx and what it imports take longer to load than everything else that a command needs.
"""

import http.client
import json
import select
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self
from urllib.parse import urlencode, urlsplit
from weakref import finalize

from msgspec import Struct

from headgate.client.call import Call, unreachable
from headgate.client.errors import error_of

_PIECE_BYTES: Final = 64 * 1024
_FAILURES: Final = (OSError, http.client.HTTPException, ValueError)
"""ValueError: an address that is none, or a credential that no header can have."""


class ReceivedAnswer(Struct, frozen=True):
    """A response whose body was read (``headgate.client.answer.Answer``)."""

    url: str
    status_code: int
    headers: Mapping[str, str]
    content: bytes

    @classmethod
    def read(cls, url: str, response: http.client.HTTPResponse) -> Self:
        headers: Any = response.headers  # Finds names in any case, and is a Mapping in all but name.
        return cls(url, response.status, headers, response.read())

    @property
    def is_success(self) -> bool:
        return http.client.OK <= self.status_code < http.client.MULTIPLE_CHOICES

    def json(self) -> Any:
        return json.loads(self.content)


class HttpConnection:
    """Connections to one address, kept between calls. Threads may share it: each call has a connection of its own.

    Redirects are not followed, proxies that the environment names are not used, and certificates are verified by the
    public roots of certifi, as ``headgate.client`` does.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout_seconds: float) -> None:
        self._url = url.rstrip("/")
        self._headers = headers
        self._timeout_seconds = timeout_seconds
        self._idle: list[http.client.HTTPConnection] = []
        finalize(self, _close_all, self._idle)

    def answer(self, call: Call[Any]) -> ReceivedAnswer:
        """Sends it once. Raises UnreachableError."""
        with self._response(call) as response:
            return ReceivedAnswer.read(self._url + call.path, response)

    def pieces(self, call: Call[Any]) -> Iterator[bytes]:
        """A body as it comes. Raises ApiError, UnreachableError, the latter where less came than was announced."""
        with self._response(call) as response:
            if not http.client.OK <= response.status < http.client.MULTIPLE_CHOICES:
                raise error_of(ReceivedAnswer.read(self._url + call.path, response))
            while piece := response.read1(_PIECE_BYTES):
                yield piece
            if response.length:  # read1 does not look at it.
                raise http.client.IncompleteRead(b"", response.length)

    def lines(self, call: Call[Any]) -> Iterator[str]:
        """The same, line by line."""
        rest = b""
        for piece in self.pieces(call):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line.removesuffix(b"\r").decode("utf-8", "replace")
        if rest:
            yield rest.decode("utf-8", "replace")

    @contextmanager
    def _response(self, call: Call[Any]) -> Iterator[http.client.HTTPResponse]:
        """The connection is kept where the whole body was read, and closed otherwise."""
        connection: http.client.HTTPConnection | None = None
        try:
            request = call.request()
            connection = self._connection(request.get("timeout", self._timeout_seconds))
            connection.request(request["method"], *_target_and_body(self._url, request), self._sent_headers(request))
            with connection.getresponse() as response:
                if response.length is None and not response.chunked:
                    # Nor would headers that were cut off be told from whole ones: http.client takes both.
                    raise http.client.HTTPException("the answer does not say where it ends")
                yield response
                is_whole = response.isclosed() or response.length == 0
            if is_whole and connection.sock is not None:
                self._idle.append(connection)
                connection = None
        except _FAILURES as error:
            raise unreachable(self._url, error) from error
        finally:
            if connection is not None:
                connection.close()

    def _sent_headers(self, request: Mapping[str, Any]) -> dict[str, str]:
        headers = {**self._headers, **request["headers"]}
        if "json" in request:
            headers["content-type"] = "application/json"
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):
                # Not the value: it may be the credential.
                raise ValueError(f"the value of {name} has characters that a header cannot have")
        return headers

    def _connection(self, timeout_seconds: float) -> http.client.HTTPConnection:
        while self._idle:
            connection = self._idle.pop()
            if _is_open(connection):
                connection.timeout = timeout_seconds
                connection.sock.settimeout(timeout_seconds)
                return connection
            connection.close()
        return _connect(self._url, timeout_seconds)


def _connect(url: str, timeout_seconds: float) -> http.client.HTTPConnection:
    address = urlsplit(url)
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise ValueError("the address does not start with http:// or https:// and a host")
    if address.scheme == "http":
        return http.client.HTTPConnection(address.hostname, address.port, timeout=timeout_seconds)
    import certifi  # noqa: PLC0415 - without TLS there is no certificate

    context = ssl.create_default_context(cafile=certifi.where())
    return http.client.HTTPSConnection(address.hostname, address.port, timeout=timeout_seconds, context=context)


def _is_open(connection: http.client.HTTPConnection) -> bool:
    """Whether the server still listens. What can be read before anything was asked is the end of the connection."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return not poll.poll(0)


def _target_and_body(url: str, request: Mapping[str, Any]) -> tuple[str, bytes | None]:
    target = urlsplit(url).path + request["url"]
    if "params" in request:
        target += "?" + urlencode(request["params"])
    if "json" not in request:
        return target, None
    return target, json.dumps(request["json"], ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _close_all(connections: list[http.client.HTTPConnection]) -> None:
    for connection in connections:
        connection.close()
