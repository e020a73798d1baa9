"""Apprise's process as its parent sees it: started on first use, killed when it is late or its output is too large."""

import asyncio
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import certifi
import structlog
from msgspec import Struct

from headgate.kernel.extras import MissingExtraError
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import Allowlist, rules_document

_log = structlog.get_logger(__name__)

_START_SECONDS: Final = 30.0
SEND_SECONDS: Final = 25.0
_LINE_BYTES: Final = 64 * 1024
_MOST_MESSAGES: Final = 200


class AppriseAnswer(Struct, frozen=True):
    """``blocked``: the connections that the rules refused. ``said``: the services' own words, may be empty."""

    succeeded: bool
    blocked: tuple[str, ...] = ()
    said: str = ""
    failure: str | None = None


class AppriseProcess:
    """Sends one message at a time and is reused; ``upstream_ca_file``: additional roots for TLS."""

    def __init__(self, upstream_ca_file: Path | None, *, send_seconds: float = SEND_SECONDS) -> None:
        self._extra = upstream_ca_file
        self._send_seconds = send_seconds
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._is_starting = False
        self._sent = 0
        self._roots: Path | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def is_starting(self) -> bool:
        """Whether the process was started; it may still be loading."""
        return self._is_starting

    async def send(self, url: Secret, title: str, body: str, rules: Allowlist) -> AppriseAnswer:
        """Sends a message. Never raises: a dead or late process is a failure of this message."""
        line = json.dumps({"url": url.reveal(), "title": title, "body": body, "rules": rules_document(rules)}) + "\n"
        async with self._turn:
            try:
                process = await self._started()
                async with asyncio.timeout(self._send_seconds):
                    answer = await _exchange(process, line)
            except TimeoutError:
                await self._kill()
                return AppriseAnswer(False, failure="deadline", said="the service took too long")
            except MissingExtraError as error:
                await self._kill()
                return AppriseAnswer(False, failure="missing_extra", said=error.message)
            except (OSError, ValueError, asyncio.IncompleteReadError) as error:
                _log.warning("apprise_process_ended", error=repr(error))
                await self._kill()
                return AppriseAnswer(False, failure="process", said="the sending process ended")
            except asyncio.CancelledError:
                await self._kill()  # A late answer to this message would be taken for the answer to the next.
                raise
            self._sent += 1
            if self._sent >= _MOST_MESSAGES:
                await self._kill()  # Ending the process also ends its memory leaks.
        named = answer["blocked"]
        blocked = tuple(str(one) for one in named) if isinstance(named, list) else ()
        failure = None if answer["succeeded"] else "blocked" if blocked else "refused"
        return AppriseAnswer(bool(answer["succeeded"]), blocked, str(answer["said"]), failure)

    async def close(self) -> None:
        async with self._turn:
            await self._kill()
        if self._roots is not None:
            self._roots.unlink(missing_ok=True)

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        self._is_starting = True
        try:
            return await self._start()
        finally:
            self._is_starting = False

    async def _start(self) -> asyncio.subprocess.Process:
        # -P: a module in the current folder cannot replace ours. The child does not inherit the environment.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "headgate.notifications.apprise_child",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env=self._environment(), limit=_LINE_BYTES,
        )  # fmt: skip
        self._process, self._sent = process, 0
        async with asyncio.timeout(_START_SECONDS):
            assert process.stdout is not None  # noqa: S101 - asked for above
            said = await process.stdout.readline()
        if not said:
            raise ValueError("it ended before it was ready")
        if missing := json.loads(said).get("missing"):
            raise MissingExtraError(missing)
        return process

    def _environment(self) -> dict[str, str]:
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": "/nonexistent"}
        if self._extra is not None:
            if self._roots is None:
                descriptor, name = tempfile.mkstemp(suffix=".pem")
                with os.fdopen(descriptor, "wb") as file:
                    file.write(Path(certifi.where()).read_bytes() + b"\n" + self._extra.read_bytes())
                self._roots = Path(name)
            environment |= {"REQUESTS_CA_BUNDLE": str(self._roots), "SSL_CERT_FILE": str(self._roots)}
        return environment

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def _exchange(process: asyncio.subprocess.Process, line: str) -> dict[str, object]:
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 - asked for at its start
    process.stdin.write(line.encode())
    await process.stdin.drain()
    answered = await process.stdout.readuntil(b"\n")
    answer = json.loads(answered)
    if not isinstance(answer, dict):
        raise ValueError("not an answer")
    return answer
