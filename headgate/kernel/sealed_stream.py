"""What the processes of a gateway tell each other as it happens, over a stream in Valkey.

A process that starts reads what the stream holds of the last while. Entries are sealed under a key that is derived from
the database's secret: who reads Valkey learns nothing, and who writes to it is not believed. Nothing waits for it, and
without Valkey each process knows what passed through itself.
"""

import asyncio
import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.sealing import Seal
from headgate.kernel.secrets import Secret

_log = structlog.get_logger(__name__)

STREAM_ENTRIES_MAX: Final = 50_000
SEND_SECONDS: Final = 0.02
_WAITING_BYTES_MAX: Final = 8 << 20
_ENTRY_BYTES_MAX: Final = 1 << 20
"""Rows are added to an entry up to this."""
_KNOWN_ENTRIES: Final = 256
_BLOCK_MILLISECONDS: Final = 1_000
_READ_AT_ONCE: Final = 50
"""Entries, in one turn of the event loop: a process that starts may find thousands."""
_RETRY_SECONDS: Final = 1.0
_SILENCE_SECONDS: Final = 5.0
"""Several times as long as a read blocks."""


class SealedStream:
    """Of one process. Raises nothing: what Valkey loses, this process still knows, and what it does not take is told
    again. ``name``: of the stream; ``window_seconds``: how far back a process reads that starts."""

    def __init__(self, valkey: Redis, secret: Secret, name: str, purpose: bytes, *, window_seconds: float) -> None:
        self._seal = Seal(secret, purpose)
        self._valkey = valkey
        self._name = name
        self._window_seconds = window_seconds
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._there_is_some = asyncio.Event()
        self._process = os.urandom(8).hex()
        self._heard_at: float | None = None
        self._known: deque[bytes] = deque(maxlen=_KNOWN_ENTRIES)

    @property
    def is_heard(self) -> bool:
        """Whether what the others tell has arrived until a moment ago."""
        return self._heard_at is not None and time.monotonic() - self._heard_at < _SILENCE_SECONDS

    def tell(self, row: JsonValue) -> None:
        """Takes it along with the next entry; beyond what may wait, the other processes do not learn it."""
        text = json.dumps(row).encode()
        if self._waiting_bytes + len(text) <= _WAITING_BYTES_MAX:
            self._waiting.append(text)
            self._waiting_bytes += len(text)
            self._there_is_some.set()

    async def keep_sending(self) -> None:
        """Without end."""
        while True:
            await self._there_is_some.wait()
            await asyncio.sleep(SEND_SECONDS)
            self._there_is_some.clear()
            while rows := self._next_rows():
                await self._send(self._seal.seal(b"[" + b",".join(rows) + b"]", self._name))

    def _next_rows(self) -> list[bytes]:
        rows: list[bytes] = []
        size = 0
        while self._waiting and (not rows or size + len(self._waiting[0]) <= _ENTRY_BYTES_MAX):
            size += len(self._waiting[0])
            rows.append(self._waiting.popleft())
        self._waiting_bytes -= size
        return rows

    async def _send(self, sealed: bytes) -> None:
        """Until it is taken: else the others would not learn it for as long as their window."""
        entry: dict[Any, Any] = {"from": self._process, "sealed": sealed}
        while True:
            try:
                await self._valkey.xadd(self._name, entry, maxlen=STREAM_ENTRIES_MAX, approximate=True)
            except (RedisError, OSError) as error:
                _log.warning("not_shared", stream=self._name, error=repr(error), waiting=len(self._waiting))
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    async def keep_listening(self, take: Callable[[Any], None]) -> None:
        """``take`` receives each row of the other processes, and raises ValueError, KeyError or TypeError for one that
        it cannot read. What happened before this process began first; without end."""
        last: bytes | str = f"{int((time.time() - self._window_seconds) * 1000)}-0"
        while True:
            try:
                answer: Any = await self._valkey.xread(
                    {self._name: last}, count=_READ_AT_ONCE, block=_BLOCK_MILLISECONDS
                )
            except (RedisError, OSError) as error:
                _log.warning("shared_stream_lost", stream=self._name, error=repr(error))
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            self._heard_at = time.monotonic()
            for _, entries in answer or ():
                for last, fields in entries:  # noqa: B007 - the last one read is where the next read begins
                    if fields.get(b"from") != self._process.encode():
                        self._take(take, fields.get(b"sealed", b""))
                await asyncio.sleep(0)

    def _take(self, take: Callable[[Any], None], sealed: bytes) -> None:
        plain = self._seal.open(sealed, self._name)
        if plain is None:
            _log.warning("shared_entry_refused", stream=self._name)
            return
        digest = hashlib.sha256(sealed).digest()
        if digest in self._known:  # sent twice, because its sender did not hear that it was taken
            return
        self._known.append(digest)
        try:
            for row in json.loads(plain):
                take(row)
        except (ValueError, KeyError, TypeError) as error:  # of another version of this program
            _log.warning("shared_entry_refused", stream=self._name, error=repr(error))
