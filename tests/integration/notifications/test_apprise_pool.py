"""Which of Apprise's processes sends: a burst goes by the one that runs, and past one that waits for its service."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from headgate.kernel.secrets import Secret
from headgate.notifications.apprise_pool import ApprisePool
from headgate.notifications.apprise_process import AppriseAnswer
from headgate.organizations.destinations import parse_allowlist
from tests.integration.outgoing.receivers import answering, hang

_HERE = parse_allowlist('{"destinations":[{"host":"127.0.0.1","private":true}]}', None)


@asynccontextmanager
async def pool(patience_seconds: float) -> AsyncIterator[ApprisePool]:
    made = ApprisePool(None, processes=2, patience_seconds=patience_seconds)
    try:
        yield made
    finally:
        await made.close()


def send(apprise: ApprisePool, port: int) -> asyncio.Future[AppriseAnswer]:
    return asyncio.ensure_future(apprise.send(Secret(f"ntfy://127.0.0.1:{port}/topic"), "T", "B", _HERE))


def running(apprise: ApprisePool) -> int:
    return sum(one.is_running for one in apprise._all)


async def test_a_burst_is_sent_by_the_process_that_runs(world) -> None:
    receiver = await world.start(answering(200, b"{}"))
    async with pool(patience_seconds=60) as apprise:
        answers = await asyncio.gather(*(send(apprise, receiver.port) for _ in range(12)))
        assert all(one.succeeded for one in answers)
        assert (running(apprise), receiver.connections) == (1, 12)


async def test_messages_that_find_no_process_wait_for_the_one_that_is_being_started(world) -> None:
    receiver = await world.start(answering(200, b"{}"))
    async with pool(patience_seconds=0.001) as apprise:
        sending = [send(apprise, receiver.port) for _ in range(4)]
        first, second = apprise._all
        while not first.is_starting:
            await asyncio.sleep(0)
        while first.is_starting:
            assert not (second.is_starting or second.is_running)
            await asyncio.sleep(0.01)
        assert all(one.succeeded for one in await asyncio.gather(*sending))


async def test_a_service_that_never_answers_keeps_one_process_and_not_the_others_messages(world) -> None:
    slow, quick = await world.start(hang), await world.start(answering(200, b"{}"))
    async with pool(patience_seconds=0.05) as apprise:
        hanging = send(apprise, slow.port)
        assert (await send(apprise, quick.port)).succeeded
        assert not hanging.done()
        assert running(apprise) == 2
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        assert (await send(apprise, quick.port)).succeeded


async def test_a_message_that_is_given_up_while_it_waits_keeps_no_process(world) -> None:
    receiver = await world.start(hang)
    async with pool(patience_seconds=60) as apprise:
        hanging = send(apprise, receiver.port)
        while not receiver.requests:
            await asyncio.sleep(0.01)
        given_up, waiting = send(apprise, receiver.port), send(apprise, receiver.port)
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        receiver.answer = answering(200, b"{}")
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        assert (await waiting).succeeded
        assert (await send(apprise, receiver.port)).succeeded
