"""What an agent has sent lately through other processes: its connections are spread over them, and so would be the
pieces of a credential.

Valkey keeps the pieces sealed under a key that is derived from the database's secret, so that whoever reads Valkey
reads none of them. Without Valkey a process knows its own requests only.
"""

import asyncio
import json
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from headgate.kernel.sealing import Seal
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.request_window import REQUESTS_MAX, WINDOW_SECONDS, Sent

_log = structlog.get_logger(__name__)

DEADLINE_SECONDS: Final = 0.25
_RETRY_SECONDS: Final = 5.0
_TELL: Final = """
local told = {}
for _, one in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if ARGV[4] == '' or string.sub(one, 1, #ARGV[4]) ~= ARGV[4] then
    table.insert(told, one)
  end
end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[2]), -1)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return told
"""
_NAME_BYTES: Final = 16
_OPENED_MAX: Final = 1024
"""At most some 16 MB: what other processes have told lately stands in each answer."""


@dataclass(slots=True)
class SharedRequests:
    """Of one process. Raises nothing: where Valkey does not answer in time, the process goes on alone."""

    valkey: Redis
    secret: Secret
    monotonic: Callable[[], float] = time.monotonic
    _own: bytes = field(default_factory=lambda: os.urandom(_NAME_BYTES))
    """The process, before each of its entries."""
    _seal: Seal = field(init=False)
    _tell: AsyncScript = field(init=False)
    _alone_until: float = 0.0
    _opened: OrderedDict[bytes, Sent | None] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self._seal = Seal(self.secret, b"headgate requests of an agent")
        self._tell = self.valkey.register_script(_TELL)

    async def tell(self, org_id: str, agent_id: str, sent: Sent, *, knows_own: bool) -> tuple[list[Sent], bytes | None]:
        """What was told before, and what takes this one back. ``knows_own``: without what this process has told, which
        is most of it: each call would read up to 16 KB again."""
        name = _name(org_id, agent_id)
        entry = self._own + self._seal.seal(json.dumps([sent.at, sent.key, sent.texts]).encode(), name)
        but = self._own if knows_own else b""
        told = await self._in_time(lambda: self._tell([name], [entry, REQUESTS_MAX, WINDOW_SECONDS, but]))
        if told is None:
            return [], None
        return [one for one in (self._open(name, entry[_NAME_BYTES:]) for entry in told) if one is not None], entry

    async def take_back(self, org_id: str, agent_id: str, entry: bytes) -> None:
        """The request is not sent."""
        await self._in_time(lambda: self.valkey.lrem(_name(org_id, agent_id), 0, entry))  # type: ignore[arg-type]  # bytes

    async def _in_time(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        if self.monotonic() < self._alone_until:
            return None
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await ask()
        except (RedisError, OSError, TimeoutError) as error:
            self._alone_until = self.monotonic() + _RETRY_SECONDS
            _log.warning("requests_of_agents_per_process", error=type(error).__name__)
            return None

    def _open(self, name: str, sealed: bytes) -> Sent | None:
        """None: of an installation with another secret, or not ours."""
        digest = blake2b(b"\0".join((name.encode(), sealed))).digest()
        if digest not in self._opened:
            plain = self._seal.open(sealed, name)
            self._keep(digest, None if plain is None else Sent(*json.loads(plain)))
        return self._opened[digest]

    def _keep(self, digest: bytes, sent: Sent | None) -> None:
        self._opened[digest] = sent
        if len(self._opened) > _OPENED_MAX:
            self._opened.popitem(last=False)


def _name(org_id: str, agent_id: str) -> str:
    return f"headgate:requests:{org_id} {agent_id}"
