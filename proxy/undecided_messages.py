"""Later messages of a bidirectional call that are not forwarded yet: undecided, or being decided.

There is one decision at a time, for all whole messages that have arrived when it begins. So messages keep their order
without a queue, and a client that sends faster than the gate decides makes larger actions, not more.
"""

import asyncio
from collections.abc import Coroutine

from msgspec import Struct

from addons.later_messages import LaterMessages
from headgate.gate.admitted import Admitted
from headgate.protocols.grpc_frames import whole_messages_bytes


class Batch(Struct, eq=False):
    """Messages from the beginning of their decision to their sending. ``size_bytes``: as they arrived."""

    size_bytes: int
    content: bytes = b""
    admitted: Admitted | None = None
    failure: BaseException | None = None


class UndecidedMessages:
    """Of one call. Does not refer to its stream, which may be gone before a decision is."""

    def __init__(self, messages: LaterMessages, undecided: bytes) -> None:
        self._messages = messages
        self._undecided = bytearray(undecided)
        self._batch: Batch | None = None
        self._has_all = False
        self._is_over = False

    @property
    def size_bytes(self) -> int:
        return len(self._undecided) + (0 if self._batch is None else self._batch.size_bytes)

    @property
    def is_finished(self) -> bool:
        """Whether the client has sent all messages, and all are forwarded."""
        return self._has_all and not self._undecided and self._batch is None

    @property
    def is_over(self) -> bool:
        """Whether nothing is forwarded any more."""
        return self._is_over

    def arrived(self, data: bytes) -> None:
        self._undecided += data

    def ended(self) -> None:
        """The client sends no more. A message that is cut is decided too, as one that cannot be read."""
        self._has_all = True

    def next_decision(self) -> Coroutine[object, object, None] | None:
        """To be awaited; then ``take`` has its result. None: one is under way, or there is nothing to decide."""
        if self._batch is not None:
            return None
        size = whole_messages_bytes(self._undecided) or (len(self._undecided) if self._has_all else 0)
        if not size:
            return None
        frames = bytes(self._undecided[:size])
        del self._undecided[:size]
        self._batch = Batch(size)
        return self._decide(self._batch, frames)

    def take(self) -> Batch:
        """What was decided. The caller forwards it and calls ``sent``, or refuses its failure."""
        if self._batch is None:
            raise RuntimeError("a decision that nobody asked for")
        return self._batch

    def sent(self, batch: Batch) -> None:
        if batch.admitted is None:
            raise RuntimeError("messages were forwarded that nobody admitted")
        self._batch = None
        self._messages.sent(batch.admitted, len(batch.content))

    def end(self) -> None:
        """Nothing is forwarded any more: what was admitted and not sent ends as not sent."""
        if not self._is_over:
            self._is_over = True
            self._undecided.clear()
            self._messages.leave()
            self._abandon()

    async def _decide(self, batch: Batch, frames: bytes) -> None:
        """Whatever it raises refuses the messages."""
        try:
            message = await self._messages.decide(frames)
            batch.admitted, batch.content = message.admitted, message.content
        except asyncio.CancelledError:
            self.end()  # the connection has ended
            raise
        except BaseException as failure:  # noqa: BLE001 - also an exit must not let the messages through
            batch.failure = failure
        if self._is_over:
            self._abandon()

    def _abandon(self) -> None:
        batch = self._batch
        if batch is not None and batch.admitted is not None:
            admitted, batch.admitted = batch.admitted, None
            self._messages.not_sent(admitted)
