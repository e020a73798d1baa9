"""Decisions about the messages of a WebSocket that end as a test wants."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from addons.socket_messages import AdmittedMessage


@dataclass
class Messages:
    """In place of the decisions: they end as a test wants. ``ended``: what was told of each that was admitted."""

    failure: BaseException | None = None
    inspection_failure: BaseException | None = None
    inspects: bool = False
    wait: asyncio.Event | None = None
    echoes: None = None
    left: int = 0
    ended: list[str] = field(default_factory=list)
    places: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    def arrived(self, *, from_client: bool) -> int:
        """In place of a window's place: how many there were of that side before."""
        self.places[from_client] += 1
        return self.places[from_client] - 1

    def leave(self) -> None:
        self.left += 1

    async def decide(self, content: bytes, *, is_text: bool, charge: Any, arrived: Any) -> Any:
        if self.wait is not None:
            await self.wait.wait()
        if self.failure is not None:
            raise self.failure
        return AdmittedMessage(cast("Any", content), content)

    def sent(self, admitted: Any, size_bytes: int) -> None:
        self.ended.append("sent")

    def not_sent(self, admitted: Any) -> None:
        self.ended.append("not sent")

    def received(self, content: bytes) -> bytes:
        return content

    async def inspect(self, content: bytes, *, is_text: bool, arrived: Any) -> bytes:
        if self.inspection_failure is not None:
            raise self.inspection_failure
        return content


class FirstWaits(Messages):
    """Only the first message has to wait for its decision."""

    async def decide(self, content: bytes, *, is_text: bool, charge: Any, arrived: Any) -> Any:
        if content == b"0" and self.wait is not None:
            await self.wait.wait()
        return AdmittedMessage(cast("Any", content), content)
