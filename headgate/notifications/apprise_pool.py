"""A few Apprise processes, so that a slow service blocks one of them and not all messages.

A process needs half a second of CPU time to start and three milliseconds to send a message. A running process therefore
finishes a burst sooner than new processes would; the pool starts another one only if none becomes free.
"""

import asyncio
from collections import deque
from pathlib import Path
from typing import Final

from headgate.kernel.secrets import Secret
from headgate.notifications.apprise_process import SEND_SECONDS, AppriseAnswer, AppriseProcess
from headgate.organizations.destinations import Allowlist

_PROCESSES: Final = 3
_PATIENCE_SECONDS: Final = 0.25
"""How long a message waits for a running or starting process before the pool starts another."""


class ApprisePool:
    """Starts processes on demand and prefers one that runs already."""

    def __init__(
        self,
        upstream_ca_file: Path | None,
        *,
        processes: int = _PROCESSES,
        send_seconds: float = SEND_SECONDS,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        self._all = [AppriseProcess(upstream_ca_file, send_seconds=send_seconds) for _ in range(processes)]
        self._idle = list(self._all)
        self._waiting: deque[asyncio.Future[AppriseProcess]] = deque()
        self._patience_seconds = patience_seconds

    async def send(self, url: Secret, title: str, body: str, rules: Allowlist) -> AppriseAnswer:
        """Like AppriseProcess.send, through the first free process."""
        chosen = await self._take()
        try:
            return await chosen.send(url, title, body, rules)
        finally:
            self._give_back(chosen)

    async def close(self) -> None:
        for one in self._all:
            await one.close()

    async def _take(self) -> AppriseProcess:
        """Returns at once if a process is idle or none is running. Otherwise it waits for the next free process and,
        after ``patience_seconds``, starts another."""
        running = next((one for one in self._idle if one.is_running), None)
        if running is not None or len(self._idle) == len(self._all):
            return self._taken(running or self._idle[0])
        turn: asyncio.Future[AppriseProcess] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            while not turn.done():
                await asyncio.wait([turn], timeout=self._patience_seconds)
                if not turn.done() and self._idle and not any(one.is_starting for one in self._all):
                    return self._taken(self._idle[0])
            return turn.result()
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(turn.result())
            raise
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)

    def _taken(self, one: AppriseProcess) -> AppriseProcess:
        self._idle.remove(one)
        return one

    def _give_back(self, one: AppriseProcess) -> None:
        """Serves the message that has waited longest, so that no later message overtakes it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(one)
                return
        self._idle.append(one)
