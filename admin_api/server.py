"""One API process: uvicorn on uvloop and httptools, on a socket of our own."""

import asyncio
import errno
import gc
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Final

import structlog
import uvicorn
import uvloop
from fastapi import FastAPI

from admin_api.app import create_app
from admin_api.arrival_shares import ArrivalShares
from admin_api.body_budget import BodyBudget
from admin_api.client_places import ClientPlaces
from admin_api.compose import open_dependencies
from admin_api.dependencies import Dependencies
from admin_api.health.checks import check_health
from admin_api.http_protocol import BoundedProtocol
from admin_api.process_settings import ApiSettings
from headgate.kernel.descriptors import most_connections, raise_descriptor_limit
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet
from headgate.monitor.port import MonitorPort

_log = structlog.get_logger(__name__)

_BACKLOG: Final = 1024
_KEEP_ALIVE_SECONDS: Final = 75
_DRAIN_SECONDS: Final = 10


def run(settings: ApiSettings) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are finished first. Raises UnavailableError."""
    raise_descriptor_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings))


async def serve(settings: ApiSettings) -> None:
    """``run`` inside a loop that is there already."""
    with listen(settings.host, settings.port, reuse_port=settings.reuse_port) as listener:
        async with open_dependencies(settings) as dependencies:
            monitor = MonitorPort(settings.monitor, partial(_is_ready, dependencies))
            app = app_of(dependencies, settings)
            app.state.monitor = monitor
            server = uvicorn_server(app, monitor)
            await monitor.open()
            # What was made at start lives as long as the process: the collector need not look at it again.
            gc.freeze()
            host, port = listener.getsockname()[:2]
            _log.info("api_ready", host=host, port=port)
            await server.serve(sockets=[listener])
            await monitor.close()
            _log.info("api_stopped")


def app_of(dependencies: Dependencies, settings: ApiSettings) -> FastAPI:
    """The application with these settings."""
    shares = ArrivalShares(
        ClientPlaces(min(settings.connections_max, most_connections()), settings.connections_of_address),
        BodyBudget(settings.bodies_bytes_max, largest=settings.body_limit_bytes),
        settings.trusted_proxies,
    )
    return create_app(dependencies, body_limit_bytes=settings.body_limit_bytes, shares=shares)


class _Server(uvicorn.Server):
    """Stops at SIGTERM and SIGINT and then returns, so that what the routes work with is closed in order.

    Uvicorn's own way raises the signal again once it has stopped serving, which ends the process there and then.
    """

    def __init__(self, config: uvicorn.Config, monitor: MonitorPort | None) -> None:
        super().__init__(config)
        self._monitor = monitor
        self._exits = TaskSet(lambda name, error: _log.critical("api_not_stopped", error=repr(error)))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._exits.start(self._exit(sig, frame), name="exit")

    async def _exit(self, sig: int, frame: FrameType | None) -> None:
        """Streams without an end are told to end: the drain would wait for them in vain."""
        if self._monitor is not None:
            await self._monitor.drain()
        if isinstance(self.config.app, FastAPI):
            self.config.app.state.dependencies.feeds.close()
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


async def _is_ready(dependencies: Dependencies) -> bool:
    return (await check_health(dependencies)).ready


def uvicorn_server(app: FastAPI, monitor: MonitorPort | None = None) -> uvicorn.Server:
    """A server that logs nothing itself: request_context does, without what a client may have put into a path."""
    return _Server(
        uvicorn.Config(
            app,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_DRAIN_SECONDS,
        ),
        monitor,
    )


def listen(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises UnavailableError, which says what to do."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        # With its protocol said: asyncio switches off Nagle's delay only where it stands (uvloop always does).
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise _unusable(host, port, error) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        # A closed connection stays until its client has read, or the kernel gives up; it inherits this from the
        # listener (tcp(7)). Elsewhere than on Linux such a connection costs its unread 64 KiB.
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            unread_milliseconds = int(BoundedProtocol.limits.read_seconds * 1000)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread_milliseconds)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _unusable(host, port, error) from error
    return listener


def _unusable(host: str, port: int, error: OSError) -> UnavailableError:
    taken = error.errno == errno.EADDRINUSE
    why = "is in use by another program" if taken else f"cannot be used: {error.strerror}"
    return UnavailableError(f"the API's address {host}:{port} {why}; choose another port or host")
