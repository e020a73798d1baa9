"""The worker as it runs: from a held action to its ticket, its outcome and its mirror, in spite of kill -9."""

import asyncio
import signal

from headgate.deliveries.model import DeliveryStatus
from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_linear import FakeLinear
from tests.integration.outgoing.fake_platform import start
from tests.integration.webhooks.test_whole_worker import eventually, worker


async def test_a_worker_killed_between_the_ticket_and_its_record(world, board: Board, cluster) -> None:
    linear = await start(world, FakeLinear)
    linear.add_user("ada", "ada@example.com")
    await board.user("ada")
    await board.set("linear", linear.document())
    answer = linear.receiver.answer

    async def carry_out_and_hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        linear.lost = 1
        await linear.answer(reader, writer)
        await asyncio.sleep(3600)

    linear.receiver.answer = carry_out_and_hang
    master_keys = board.gate.api.settings.data.master_keys
    asked = await board.ask()

    async def opened() -> bool:
        return bool(linear.tickets)

    async with worker(cluster, master_keys) as process:
        await eventually(opened)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    linear.receiver.answer, linear.lost = answer, 0

    async def delivered() -> bool:
        deliveries = await board.deliveries()
        return bool(deliveries) and all(one.status is DeliveryStatus.DELIVERED for one in deliveries)

    async with worker(cluster, master_keys):
        await eventually(delivered)
        (ticket,) = linear.tickets.values()
        assert (await board.send(*linear.moved(ticket, "Approved", "ada"))).json() == {"outcome": "decided"}

        async def confirmed() -> bool:
            return bool(linear.texts(ticket))

        await eventually(confirmed)
    assert await asked.status() == "approved"
    assert len(linear.tickets) == 1
    opening = (await board.deliveries())[0]
    assert [one.failure for one in await board.attempts(opening.delivery_id)] == ["interrupted", None]
