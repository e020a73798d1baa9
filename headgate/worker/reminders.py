"""What becomes due while people wait or forget: approvals that end, rise or are reminded of, and old keys."""

import asyncio

from redis.asyncio import Redis

from headgate.agents.remind_rotation import remind_rotation
from headgate.approvals.attend import escalate_due, remind_due
from headgate.approvals.expire import expire_due
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.worker.loop import WATCHED_SECONDS, Loop


def reminder_loops(database: Database, valkey: Redis | None, clock: Clock) -> list[Loop]:
    async def expire() -> int:
        return await expire_due(database, valkey, clock)

    async def escalate() -> int:
        return await escalate_due(database)

    async def remind() -> int:
        return await remind_due(database)

    async def rotation() -> int:
        return await remind_rotation(database, clock)

    return [
        Loop("expire", expire, busy_seconds=0.05, idle_seconds=WATCHED_SECONDS, wake=asyncio.Event()),
        Loop("escalate", escalate, busy_seconds=0.05, idle_seconds=WATCHED_SECONDS, wake=asyncio.Event()),
        Loop("remind", remind, busy_seconds=0.05, idle_seconds=5.0),
        Loop("remind_rotation", rotation, busy_seconds=1.0, idle_seconds=600.0),
    ]
