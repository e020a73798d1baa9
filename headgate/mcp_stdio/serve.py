"""Runs an MCP server as a child, between it and the client that started this process."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from headgate.client.asynchronous import AsyncClient
from headgate.kernel.errors import NotFoundError, PayloadTooLargeError
from headgate.kernel.secrets import Secret
from headgate.kernel.tasks import TaskSet
from headgate.mcp_stdio.decide import Decisions
from headgate.mcp_stdio.lines import FileLines, StreamLines, open_lines
from headgate.mcp_stdio.message import LINE_BYTES_MAX
from headgate.mcp_stdio.relay import Relay

_END_SECONDS: Final = 5.0
_OURS: Final = "HEADGATE_"


class Wrapped(Struct, frozen=True):
    """``server``: the tool of its actions. ``command``: the program and its arguments."""

    server: str
    command: Sequence[str]
    api_url: str
    agent_key: Secret
    hold_seconds: float


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without Headgate's own variables: the server does not need the agent's key."""
    return {name: value for name, value in environment.items() if not name.startswith(_OURS)}


async def serve(wrapped: Wrapped, warn: Callable[[str], None]) -> int:
    """Until the client or the server ends; the status to exit with. Raises NotFoundError, UnavailableError."""
    program = shutil.which(wrapped.command[0])
    if program is None:
        raise NotFoundError(f"program not found: {wrapped.command[0]}")
    incoming = await open_lines(sys.stdin.buffer)
    async with AsyncClient(wrapped.api_url, agent_key=wrapped.agent_key.reveal()) as client:
        child = await asyncio.create_subprocess_exec(
            program,
            *wrapped.command[1:],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=child_environment(os.environ),
            limit=LINE_BYTES_MAX,
        )
        try:
            return await _relay(wrapped, client, child, incoming, warn)
        finally:
            await _end(child)


async def _relay(
    wrapped: Wrapped,
    client: AsyncClient,
    child: asyncio.subprocess.Process,
    incoming: asyncio.StreamReader,
    warn: Callable[[str], None],
) -> int:
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("a child without pipes")
    decisions = Decisions(client, wrapped.api_url, hold_seconds=wrapped.hold_seconds)
    relay = Relay(
        wrapped.server,
        decisions,
        to_client=FileLines(sys.stdout.fileno()),
        to_server=StreamLines(child.stdin),
        warn=warn,
    )
    tasks = TaskSet(lambda name, error: None)  # looked at below
    from_client = tasks.start(relay.from_client(incoming), name="from the client")
    from_server = tasks.start(relay.from_server(child.stdout), name="from the server")
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    stopping = tasks.start(stopped.wait(), name="signals")
    try:
        await asyncio.wait({from_client, from_server, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if _has_ended(from_client) and not from_server.done() and not stopped.is_set():
            # The client ends the session by closing its end (MCP, "Lifecycle", "Shutdown"); answers may still come.
            child.stdin.close()
            await asyncio.wait({from_server, stopping}, timeout=_END_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            return 0
        if stopped.is_set():
            return 128 + signal.SIGTERM
        return await _status(child, warn) if _has_ended(from_server) else _failure([from_client, from_server], warn)
    finally:
        client_listens = not _has_ended(from_client)
        await tasks.close()
        await relay.end(client_listens=client_listens)


def _has_ended(task: asyncio.Task[object]) -> bool:
    """In an orderly way."""
    return task.done() and not task.cancelled() and task.exception() is None


def _failure(tasks: Iterable[asyncio.Task[object]], warn: Callable[[str], None]) -> int:
    """Why nothing more can be passed on. Raises what is none of these reasons."""
    for task in tasks:
        error = task.exception() if task.done() else None
        if isinstance(error, PayloadTooLargeError):
            warn(f"ended: {error.message}")
        elif isinstance(error, OSError):
            warn(f"ended: the reader of a pipe has gone ({error})")
        elif error is not None:
            raise error
    return 1


async def _status(child: asyncio.subprocess.Process, warn: Callable[[str], None]) -> int:
    """The server closed its output: it has ended, or is about to."""
    with contextlib.suppress(TimeoutError):
        status = await asyncio.wait_for(child.wait(), _END_SECONDS)
        warn(f"the MCP server ended with status {status}")
        return status if status >= 0 else 128 - status
    warn("the MCP server closed its output")
    return 1


async def _end(child: asyncio.subprocess.Process) -> None:
    """Closes the child's input, then asks it to end, then ends it (MCP, "Lifecycle", "Shutdown")."""
    if child.stdin is not None:
        child.stdin.close()
    for end in (None, child.terminate, child.kill):
        if end is not None:
            with contextlib.suppress(ProcessLookupError):
                end()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(child.wait(), _END_SECONDS)
            return
