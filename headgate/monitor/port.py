"""``/healthz``, ``/readyz`` and ``/metrics`` of one process (HEADGATE_MONITOR_ADDRESS).

Kubernetes' names for probes: alive, and ready for traffic. Nothing of an organization is told. The address should be
reachable by probes and Prometheus only, so the server is small rather than fair: few connections, a short time for
each, one collection of metrics at a time, and no second request on a connection.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from headgate.configuration.metrics_registry import shared_registry
from headgate.kernel.errors import UnavailableError
from headgate.monitor.settings import MonitorSettings

_log = structlog.get_logger(__name__)

_HEAD_BYTES_MAX: Final = 8 << 10
_REQUEST_SECONDS: Final = 10.0
_CONNECTIONS_MAX: Final = 32
_TEXT: Final = "text/plain; charset=utf-8"

type Readiness = Callable[[], Awaitable[bool]]
"""Whether this process can take traffic. An exception means no."""


class MonitorPort:
    """One process' probes. ``ready`` is asked at each ``/readyz``, until the process drains."""

    def __init__(self, settings: MonitorSettings, ready: Readiness) -> None:
        self._settings = settings
        self._ready = ready
        self._is_draining = False
        self._connections = 0
        self._collecting = asyncio.Lock()
        self._server: asyncio.Server | None = None

    @property
    def is_draining(self) -> bool:
        return self._is_draining

    @property
    def address(self) -> tuple[str, int] | None:
        """Where it listens. None: it does not."""
        if self._server is None:
            return None
        name = self._server.sockets[0].getsockname()
        return str(name[0]), int(name[1])

    async def open(self) -> None:
        """Listens, where an address is set. Processes of one machine may share a port. Raises UnavailableError."""
        if self._settings.address is None:
            return
        host, port = self._settings.address
        try:
            self._server = await asyncio.start_server(self._serve, host, port, reuse_port=True, limit=_HEAD_BYTES_MAX)
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise UnavailableError(f"HEADGATE_MONITOR_ADDRESS: {host}:{port} {why}. Choose another address") from error
        _log.info("monitor_ready", address=self.address)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def drain(self) -> None:
        """From now on not ready; returns when load balancers have had the time to see it, and at once when it is asked
        again: who signals twice does not want to wait."""
        if self._is_draining:
            return
        self._is_draining = True
        if self._settings.drain_seconds:
            _log.info("draining", seconds=self._settings.drain_seconds)
            await asyncio.sleep(self._settings.drain_seconds)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= _CONNECTIONS_MAX:
                async with asyncio.timeout(_REQUEST_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._answer(head))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asks for so long, or for so much, is no probe
        finally:
            self._connections -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, "GET only\n")
        match path:
            case b"/healthz":
                found = _response(HTTPStatus.OK, "ok\n")
            case b"/readyz":
                found = await self._readiness()
            case b"/metrics":
                async with self._collecting:
                    text = await asyncio.to_thread(lambda: generate_latest(shared_registry()))
                found = _response(HTTPStatus.OK, text.decode(), CONTENT_TYPE_LATEST)
            case _:
                found = _response(HTTPStatus.NOT_FOUND, "/healthz, /readyz, /metrics\n")
        return found if method == b"GET" else found.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    async def _readiness(self) -> bytes:
        if self._is_draining:
            return _response(HTTPStatus.SERVICE_UNAVAILABLE, "draining\n")
        try:
            is_ready = await self._ready()
        except Exception as error:  # noqa: BLE001 - a probe that fails is a process that is not ready
            _log.warning("readiness_failed", error=repr(error))
            is_ready = False
        if not is_ready:
            return _response(HTTPStatus.SERVICE_UNAVAILABLE, "not ready\n")
        return _response(HTTPStatus.OK, "ready\n")


def _response(status: HTTPStatus, text: str, content_type: str = _TEXT) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
