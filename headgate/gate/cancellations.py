"""Ends the hold of a call that its client cancels (MCP, "Cancellation"). A later approval must not send the call.

The cancellation comes over another connection, which may belong to another process. Processes inform each other through
Valkey, under names that only holders of the database's secret can make. Without Valkey, a process knows only the
cancellations that it received itself.
"""

import asyncio
import hashlib
import hmac
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.gate.candidate import ReadAction
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.sealing import derived_key
from headgate.kernel.secrets import Secret
from headgate.protocols.mcp_exchange import McpId

_log = structlog.get_logger(__name__)

CHANNEL: Final = "headgate.cancelled"
_WAITING_MAX: Final = 10_000
_RECONNECT_SECONDS: Final = 1.0
_NOT_CANCELLABLE: Final = nullcontext()


class Cancellations:
    """The calls of one process that can be cancelled, until they are sent or refused."""

    def __init__(self, secret: Secret) -> None:
        self._key = derived_key(secret, b"headgate cancelled calls")
        self._calls: dict[bytes, list[Callable[[], None]]] = {}
        self._to_tell: deque[bytes] = deque(maxlen=_WAITING_MAX)
        self._there_is_some = asyncio.Event()

    def cancellable(self, org_id: str, action: ReadAction, end: Callable[[], None]) -> AbstractContextManager[None]:
        """``end`` is called when the client cancels the call, while the block runs. A call without an id cannot be."""
        if action.mcp_id is None:
            return _NOT_CANCELLABLE
        return self._ended_with(self._name(org_id, action, action.mcp_id), end)

    @contextmanager
    def _ended_with(self, name: bytes, end: Callable[[], None]) -> Iterator[None]:
        ends = self._calls.setdefault(name, [])
        ends.append(end)
        try:
            yield
        finally:
            ends.remove(end)
            if not ends:
                self._calls.pop(name, None)

    def note(self, org_id: str, action: ReadAction) -> None:
        """A message that may cancel a call of the same agent, server and session."""
        if action.mcp is None or action.mcp.cancels is None:
            return
        name = self._name(org_id, action, action.mcp.cancels)
        self._end(name)
        self._to_tell.append(name)
        self._there_is_some.set()

    async def keep_telling(self, valkey: Redis) -> None:
        """Without end."""
        while True:
            await self._there_is_some.wait()
            self._there_is_some.clear()
            while self._to_tell:
                try:
                    await valkey.publish(CHANNEL, self._to_tell.popleft())
                except (RedisError, OSError) as error:
                    _log.warning("cancellation_not_shared", error=repr(error))

    async def keep_listening(self, valkey: Redis) -> None:
        """Without end."""
        while True:
            try:
                async with valkey.pubsub() as subscription:
                    await subscription.subscribe(CHANNEL)
                    async for message in subscription.listen():
                        if message["type"] == "message":
                            self._end(message["data"])
            except (RedisError, OSError) as error:
                _log.warning("cancellation_channel_lost", error=repr(error))
            await asyncio.sleep(_RECONNECT_SECONDS)

    def _end(self, name: bytes) -> None:
        for end in tuple(self._calls.get(name, ())):
            end()

    def _name(self, org_id: str, action: ReadAction, request_id: McpId) -> bytes:
        """Ids belong to a session, so a session without a name is all of the agent's that have none: two clients of one
        agent that count alike may end each other's holds, and neither sends what was cancelled."""
        session_id = None if action.mcp is None else action.mcp.session_id
        name = canonical_bytes([org_id, action.agent_id, action.tool, action.host, session_id, request_id])
        return hmac.digest(self._key, name, hashlib.sha256)
