"""What interrupts an inspection: time, a client that leaves, and what comes after it on the same connection."""

import asyncio

from addons.inspection import AnswerLimits
from addons.verdict import Ending
from tests.integration.proxy.answers.scripts import (
    CHUNKED,
    MAIL,
    ask,
    chunk,
    error_of,
    event,
    plain,
)


async def test_an_answer_that_does_not_end(inspect, answer) -> None:
    running = await inspect(limits=AnswerLimits(seconds=0.3))
    running.upstream.scripts[b"/it"] = []
    received, _, completion = await ask(running, answer, CHUNKED + b"text/plain\r\n\r\n", *[chunk(b"x")] * 50)
    assert "did not end within 0.3 seconds" in error_of(received)["message"]
    assert completion.inspection["withheld"] is True


async def test_a_client_that_leaves_while_its_answer_is_collected(inspect) -> None:
    running = await inspect()
    running.upstream.scripts[b"/it"] = [CHUNKED + b"text/plain\r\n\r\n", *[chunk(b"x" * 100)] * 500]
    _, writer = await running.tunnel()
    writer.write(running.get("/it"))
    async with asyncio.timeout(30):
        while not running.gate.budget.used_bytes:
            await asyncio.sleep(0.01)
    writer.close()
    await running.settled()
    [completion] = running.decide.completions
    assert completion.ending is Ending.BROKEN
    assert completion.inspection["reason"] == "it could not be inspected: it broke off before it was whole"
    assert running.gate.budget.used_bytes == 0


async def test_a_connection_goes_on_after_an_answer_was_withheld(inspect, answer) -> None:
    running = await inspect()
    running.upstream.scripts |= {
        b"/mail": [plain(MAIL.encode())],
        b"/large": [CHUNKED + b"text/plain\r\n\r\n", *[chunk(b"x" * 300_000)] * 5, b"0\r\n\r\n"],
        b"/fine": [plain(b"fine")],
    }
    reader, writer = await running.tunnel()
    for path, status in [("/mail", 403), ("/fine", 200), ("/large", 403), ("/fine", 200), ("/mail", 403)]:
        writer.write(running.get(path).replace(b"Connection: close\r\n", b""))
        async with asyncio.timeout(30):
            head = await reader.readuntil(b"\r\n\r\n")
            received = answer(head)
            body = await reader.readexactly(int(received.headers["content-length"]))
        assert (received.status, b"RESPONSE_WITHHELD" in body) == (status, status == 403)
    writer.close()
    await running.settled()
    assert running.gate.budget.used_bytes == 0


async def test_a_client_that_leaves_while_its_answer_is_judged(inspect) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def waits() -> list:
        asked.set()
        await go_on.wait()
        return []

    running = await inspect(asking=waits)
    running.upstream.scripts[b"/it"] = [plain(b"x" * 1000)]
    _, writer = await running.tunnel()
    writer.write(running.get("/it"))
    await asyncio.wait_for(asked.wait(), 30)
    assert running.gate.budget.used_bytes == 1000
    writer.close()
    go_on.set()
    await running.settled()
    assert running.gate.budget.used_bytes == 0
    [completion] = running.decide.completions
    # Nobody agreed, so nothing may pass, whether or not somebody is there.
    assert completion.inspection["withheld"] is True


async def test_no_more_of_a_stream_is_read_while_a_stretch_is_inspected(inspect) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def waits() -> list:
        asked.set()
        await go_on.wait()
        return []

    running = await inspect(asking=waits)
    running.upstream.scripts[b"/it"] = [
        CHUNKED + b"text/event-stream\r\n\r\n",
        event("x"),
        *[chunk(bytes(1 << 20))] * 60,
    ]
    _, writer = await running.tunnel()
    writer.write(running.get("/it"))
    await asyncio.wait_for(asked.wait(), 30)
    before = -1
    while running.upstream.written_bytes != before:
        before = running.upstream.written_bytes
        await asyncio.sleep(0.5)
    assert before < 24 << 20
    go_on.set()
    writer.close()
    await running.settled()
    assert running.gate.budget.used_bytes == 0
