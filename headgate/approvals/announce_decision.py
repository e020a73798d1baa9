"""Notifies the proxies of a decision on an approval, through a hint in Valkey. The hint may be lost.

A proxy that receives the hint reads Postgres. A proxy that misses it polls (headgate.approvals.wake_ups).
"""

import asyncio
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.approvals.wake_ups import CHANNEL

_log = structlog.get_logger(__name__)

_DEADLINE_SECONDS: Final = 0.5


async def announce_decision(valkey: Redis | None, approval_id: str) -> None:
    """Publishes the hint. Call it after the commit. It never raises: the decision is already stored."""
    if valkey is None:
        return
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            await valkey.publish(CHANNEL, approval_id)
    except (RedisError, OSError, TimeoutError) as error:
        _log.warning("wake_up_not_sent", approval_id=approval_id, error=repr(error))
