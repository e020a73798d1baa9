"""What the processes of a gateway tell each other about what agents were shown.

An agent's connections are spread over processes, and a process that starts learns what was shown in the last
``WINDOW_SECONDS``.
"""

import base64
from datetime import datetime
from typing import Any, Final

from redis.asyncio import Redis

from headgate.kernel.sealed_stream import SealedStream
from headgate.kernel.secrets import Secret
from headgate.provenance.memory import WINDOW_SECONDS, Shown, ValueMemory
from headgate.provenance.model import Source, SourceKind

STREAM: Final = "headgate.shown"


class SharedMemory:
    """Of one process. Raises nothing."""

    def __init__(self, valkey: Redis, secret: Secret) -> None:
        self._stream = SealedStream(
            valkey, secret, STREAM, b"headgate provenance stream", window_seconds=WINDOW_SECONDS
        )

    def tell(self, shown: Shown) -> None:
        """To the other processes, soon."""
        hashes = base64.b64encode(shown.hashes).decode("ascii")
        self._stream.tell([shown.org_id, shown.agent_id, shown.source.record(), hashes])

    async def keep_sending(self) -> None:
        """Without end."""
        await self._stream.keep_sending()

    async def keep_listening(self, memory: ValueMemory) -> None:
        """Without end."""
        await self._stream.keep_listening(lambda row: memory.absorb(_read(row)))


def _read(row: Any) -> Shown:
    """What ``tell`` wrote."""
    org_id, agent_id, record, hashes = row
    return Shown(org_id, agent_id, _source(record), base64.b64decode(hashes))


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
