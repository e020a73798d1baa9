"""What the processes of a gateway tell each other about what agents were shown, over a stream in Valkey.

An agent's connections are spread over processes, and a process that starts reads the stream of the last
``WINDOW_SECONDS``. Entries are sealed under a key that is derived from the database's secret: whoever writes to Valkey
makes nothing trusted. Without Valkey each process knows what passed through itself.
"""

import asyncio
import base64
import json
import os
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.kernel.sealing import Seal
from headgate.kernel.secrets import Secret
from headgate.provenance.memory import WINDOW_SECONDS, Shown, ValueMemory
from headgate.provenance.model import Source, SourceKind

_log = structlog.get_logger(__name__)

STREAM: Final = "headgate.shown"
STREAM_ENTRIES_MAX: Final = 50_000
SEND_SECONDS: Final = 0.02
_WAITING_MAX: Final = 10_000
_BLOCK_MILLISECONDS: Final = 1_000
_READ_AT_ONCE: Final = 50
"""Entries, in one turn of the event loop: a process that starts may find thousands."""
_RETRY_SECONDS: Final = 1.0


class SharedMemory:
    """Of one process. Raises nothing: what Valkey loses, this process still knows."""

    def __init__(self, valkey: Redis, secret: Secret) -> None:
        self._seal = Seal(secret, b"headgate provenance stream")
        self._valkey = valkey
        self._waiting: list[Shown] = []
        self._there_is_some = asyncio.Event()
        self._process = os.urandom(8).hex()

    def tell(self, shown: Shown) -> None:
        """Takes it along with the next entry; beyond what may wait, the other processes do not learn it."""
        if len(self._waiting) < _WAITING_MAX:
            self._waiting.append(shown)
            self._there_is_some.set()

    async def keep_sending(self) -> None:
        """Without end."""
        while True:
            await self._there_is_some.wait()
            await asyncio.sleep(SEND_SECONDS)
            self._there_is_some.clear()
            told, self._waiting = self._waiting, []
            entry: dict[Any, Any] = {"from": self._process, "sealed": self._seal.seal(_written(told), STREAM)}
            try:
                await self._valkey.xadd(STREAM, entry, maxlen=STREAM_ENTRIES_MAX, approximate=True)
            except (RedisError, OSError) as error:
                _log.warning("provenance_not_shared", error=repr(error), values=len(told))

    async def keep_listening(self, memory: ValueMemory) -> None:
        """What happened before this process began first; without end."""
        last: bytes | str = f"{int((time.time() - WINDOW_SECONDS) * 1000)}-0"
        while True:
            try:
                answer: Any = await self._valkey.xread({STREAM: last}, count=_READ_AT_ONCE, block=_BLOCK_MILLISECONDS)
            except (RedisError, OSError) as error:
                _log.warning("provenance_channel_lost", error=repr(error))
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            for _, entries in answer or ():
                for last, fields in entries:  # noqa: B007 - the last one read is where the next read begins
                    if fields.get(b"from") != self._process.encode():
                        self._take(memory, fields.get(b"sealed", b""))
                await asyncio.sleep(0)

    def _take(self, memory: ValueMemory, sealed: bytes) -> None:
        plain = self._seal.open(sealed, STREAM)
        if plain is None:
            _log.warning("provenance_entry_refused")
            return
        try:
            for shown in _read(plain):
                memory.absorb(shown)
        except (ValueError, KeyError, TypeError) as error:  # of another version of this program
            _log.warning("provenance_entry_refused", error=repr(error))


def _written(told: Iterable[Shown]) -> bytes:
    rows = [
        [one.org_id, one.agent_id, one.source.record(), base64.b64encode(one.hashes).decode("ascii")] for one in told
    ]
    return json.dumps(rows).encode()


def _read(plain: bytes) -> list[Shown]:
    """What ``_written`` wrote."""
    return [
        Shown(org_id, agent_id, _source(record), base64.b64decode(hashes))
        for org_id, agent_id, record, hashes in json.loads(plain)
    ]


def _source(record: dict[str, Any]) -> Source:
    """What ``Source.record`` wrote."""
    members = {name: record.get(name) for name in ("action_id", "host", "tool", "operation", "name")}
    seen_at = record.get("seen_at")
    return Source(
        SourceKind(record["source"]),
        bool(record["trusted"]),
        None if seen_at is None else datetime.fromisoformat(seen_at),
        **members,
    )
