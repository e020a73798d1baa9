"""Lines of a pipe, of bounded length, in both directions."""

import asyncio
import os
from typing import BinaryIO, Protocol

from headgate.kernel.errors import PayloadTooLargeError, UnavailableError
from headgate.mcp_stdio.message import LINE_BYTES_MAX


class Lines(Protocol):
    """Where messages go. A line is written whole, or not at all."""

    async def write(self, line: bytes) -> None:
        """``line`` without its end. Raises BrokenPipeError, ConnectionResetError: nobody reads any more."""


async def open_lines(file: BinaryIO) -> asyncio.StreamReader:
    """Raises UnavailableError: not a pipe, a socket or a terminal."""
    reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    try:
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    except ValueError as error:
        raise UnavailableError("standard input must be a pipe: an MCP client starts this command") from error
    return reader


async def next_line(reader: asyncio.StreamReader) -> bytes | None:
    """Without its end, and not empty; None: there is none any more. What no line end follows is no message.

    Raises PayloadTooLargeError: nothing after it can be read.
    """
    while True:
        try:
            line = (await reader.readuntil(b"\n")).rstrip(b"\r\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError as error:
            raise PayloadTooLargeError(f"a message is larger than {LINE_BYTES_MAX} bytes") from error
        if line:
            return line


class FileLines:
    """To a file descriptor that others may be slow to read: in a thread, one line after the other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = asyncio.Lock()

    async def write(self, line: bytes) -> None:
        async with self._lock:
            await asyncio.to_thread(self._write, line + b"\n")

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


class StreamLines:
    """To a child's standard input."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, line: bytes) -> None:
        self._writer.write(line + b"\n")
        await self._writer.drain()
