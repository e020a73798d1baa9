"""The worker as it runs: from a held action to its receiver, in order, and in spite of kill -9."""

import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from headgate.approvals.decide import DecideApproval
from headgate.approvals.model import VoteDecision
from headgate.approvals.voting import Voter
from headgate.deliveries.model import DeliveryStatus
from headgate.kernel.clock import system_clock
from tests.integration.outgoing.receivers import Receiver, answering, hang

_WITHIN_SECONDS = 40


@asynccontextmanager
async def worker(cluster, master_keys) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.webhooks.killed_worker",
        cluster.dsn("headgate_worker"), str(master_keys), stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def eventually(check: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(_WITHIN_SECONDS):
        while not await check():
            await asyncio.sleep(0.05)


def arrived(receiver: Receiver) -> list[tuple[str, str]]:
    """Event and approval of every message, as they came."""
    bodies = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in receiver.requests]
    return [(body["event"], body["data"]["approval_id"]) for body in bodies]


async def _all_delivered(told) -> bool:
    deliveries = await told.deliveries()
    return bool(deliveries) and all(one.status is DeliveryStatus.DELIVERED for one in deliveries)


async def test_each_approvals_messages_arrive_in_order_though_the_first_fails(
    told, organization, hold, world, cluster, master_keys
) -> None:
    receiver = await world.start(answering())
    refused: Counter[str] = Counter()

    async def refuses_each_first_message_once(reader, writer) -> None:
        body = json.loads(receiver.requests[-1].partition(b"\r\n\r\n")[2])
        approval = body["data"]["approval_id"]
        refused[approval] += body["event"] == "approval.created"
        first = body["event"] == "approval.created" and refused[approval] == 1
        await answering(500 if first else 200)(reader, writer)

    receiver.answer = refuses_each_first_message_once
    await told.endpoint(receiver.port)
    decide = DecideApproval(told.api, None, system_clock)
    async with worker(cluster, master_keys):
        held = [await hold(organization) for _ in range(3)]
        for one in held:
            voter = Voter(user_id="usr_1", email="ada@example.com", is_admin=True)
            await decide.decide(organization.org_id, one.approval_id, voter, VoteDecision.APPROVE, None)

        async def finished() -> bool:
            return len(await told.deliveries()) == 6 and await _all_delivered(told)

        await eventually(finished)
    for one in held:
        events = [event for event, approval in arrived(receiver) if approval == one.approval_id]
        assert events == ["approval.created", "approval.created", "approval.approved"]


async def test_a_worker_that_is_killed_in_the_middle_of_a_delivery_is_followed_by_another(
    told, organization, hold, world, cluster, master_keys
) -> None:
    receiver = await world.start(hang)
    await told.endpoint(receiver.port)
    held = await hold(organization)

    async def sent() -> bool:
        return bool(receiver.requests)

    async with worker(cluster, master_keys) as process:
        await eventually(sent)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    receiver.answer = answering()
    async with worker(cluster, master_keys):
        await eventually(lambda: _all_delivered(told))
    (delivery,) = await told.deliveries()
    first, second = await told.attempts(delivery.delivery_id)
    assert (first.failure, second.status_code) == ("interrupted", 200)
    assert set(arrived(receiver)) == {("approval.created", held.approval_id)}
    ids = {line for request in receiver.requests for line in request.split(b"\r\n") if line.startswith(b"webhook-id")}
    assert len(ids) == 1


async def test_two_workers_deliver_everything_once(told, organization, hold, world, cluster, master_keys) -> None:
    receiver = await world.start(answering())
    await told.endpoint(receiver.port)
    async with worker(cluster, master_keys), worker(cluster, master_keys):
        held = [await hold(organization) for _ in range(40)]

        async def finished() -> bool:
            return len(await told.deliveries()) == len(held) and await _all_delivered(told)

        await eventually(finished)
    assert Counter(arrived(receiver)) == Counter(("approval.created", one.approval_id) for one in held)
