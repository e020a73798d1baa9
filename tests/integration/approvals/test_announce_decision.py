"""A decision wakes whoever holds the call, through a real Valkey; the poll does it where there is none."""

import asyncio

from redis.asyncio import Redis

from headgate.approvals.decide import DecideApproval
from headgate.approvals.model import VoteDecision
from headgate.approvals.voting import Voter
from headgate.approvals.wake_ups import CHANNEL
from headgate.db.database import Database
from headgate.kernel.clock import system_clock


async def test_the_wake_up_follows_the_commit(api_database: Database, organization, hold, valkey_url: str) -> None:
    held = await hold(organization)
    async with Redis.from_url(valkey_url) as valkey, valkey.pubsub() as subscription:
        await subscription.subscribe(CHANNEL)
        await subscription.get_message(timeout=5)
        await DecideApproval(api_database, valkey, system_clock).decide(
            organization.org_id, held.approval_id, Voter("usr_alice"), VoteDecision.APPROVE, None
        )
        async with asyncio.timeout(30):
            message = None
            while message is None:
                message = await subscription.get_message(ignore_subscribe_messages=True, timeout=1)
    assert message["data"].decode() == held.approval_id
