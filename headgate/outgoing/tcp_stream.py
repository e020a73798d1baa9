"""TCP and TLS for httpcore over asyncio's streams, closed in every case: also where the wait for a connection or for
its handshake is cancelled.

httpcore's own backends leave such sockets to the garbage collector (encode/httpcore issues 658, 830, 1093).
"""

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any, Final, cast

import httpcore

_READ_AHEAD_BYTES: Final = 65536


class _Reader(asyncio.StreamReader):
    """Counts what was not read yet: an idle connection on which a server speaks is of no more use. What arrived before
    a reset is still read."""

    unread_bytes = 0
    _reset: Exception | None = None

    def feed_data(self, data: Iterable[Any]) -> None:
        piece = bytes(data)
        self.unread_bytes += len(piece)
        super().feed_data(piece)

    def set_exception(self, exc: Exception) -> None:
        if self.unread_bytes:
            self._reset = exc
            self.feed_eof()
        else:
            super().set_exception(exc)

    async def read(self, n: int = -1) -> bytes:
        piece = await super().read(n)
        self.unread_bytes -= len(piece)
        if not piece and self._reset is not None:
            raise self._reset
        return piece


class _Protocol(asyncio.StreamReaderProtocol):
    """Closes the socket once the other side has closed its own: no idle connection stays half open."""

    def eof_received(self) -> bool:
        super().eof_received()
        return False


class _Writer(asyncio.StreamWriter):
    """asyncio's writer closes its transport when it is collected, even if another protocol has taken it over."""

    is_handed_over = False

    def __del__(self) -> None:
        if not self.is_handed_over:
            super().__del__()


class TcpStream(httpcore.AsyncNetworkStream):
    """One connection. ``abort`` closes it at once: what was not sent is dropped, the other side is not waited for."""

    def __init__(self, reader: _Reader, writer: _Writer) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()
        except TimeoutError as error:
            raise httpcore.WriteTimeout from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def abort(self) -> None:
        self._writer.transport.abort()

    def hand_over(self, protocol: asyncio.Protocol) -> asyncio.Transport:
        """Gives the connection to ``protocol``, which receives all further data. Everything before was read."""
        transport = self._writer.transport
        self._writer.is_handed_over = True
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        return cast("asyncio.Transport", transport)

    async def aclose(self) -> None:
        self.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except BaseException as error:
            self.abort()
            if isinstance(error, TimeoutError):
                raise httpcore.ConnectTimeout from error
            if isinstance(error, OSError):
                raise httpcore.ConnectError(str(error)) from error
            raise
        return self

    def get_extra_info(self, info: str) -> Any:  # the shape is httpcore's
        if info == "is_readable":
            return self._reader.unread_bytes > 0 or self._reader.at_eof() or self._writer.is_closing()
        return self._writer.get_extra_info(info)


async def connect_tcp(address: str, port: int) -> TcpStream:
    """To an address, not a name. Raises httpcore.ConnectError. The caller bounds the time."""
    loop = asyncio.get_running_loop()
    reader = _Reader(limit=_READ_AHEAD_BYTES, loop=loop)
    protocol = _Protocol(reader, loop=loop)
    try:
        transport, _ = await loop.create_connection(lambda: protocol, address, port)
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error
    return TcpStream(reader, _Writer(transport, protocol, reader, loop))
