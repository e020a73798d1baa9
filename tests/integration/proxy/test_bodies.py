"""Rules 5 and 12: request bodies are bounded and never stream, responses stream and are metered."""

import asyncio
import hashlib
import json

import pytest

from addons.limits import RequestLimits
from addons.verdict import Ending, flow_state
from tests.integration.proxy.conftest import caller_named

SMALL = RequestLimits(body=100_000, buffered=300_000)


def post(running, body: bytes, *, headers: str = "", close: bool = True) -> bytes:
    head = running.get("/", method="POST", headers=f"Content-Length: {len(body)}\r\n{headers}")
    return (head if close else head.replace(b"Connection: close\r\n", b"")) + body


async def test_a_body_within_the_limit_arrives_whole(start, answer) -> None:
    running = await start(limits=SMALL)
    body = bytes(range(256)) * 390
    assert answer(await running.secure(post(running, body))).status == 200
    assert running.upstream.bodies == [body]
    await running.settled()
    assert running.gate.budget.used_bytes == 0
    assert running.gate.budget.peak_bytes == len(body)


async def test_an_announced_body_over_the_limit_is_refused_before_it_is_read(start, answer) -> None:
    running = await start(limits=SMALL)
    head = running.get("/", method="POST", headers="Content-Length: 100001\r\nExpect: 100-continue\r\n")
    received = await running.secure(head)  # and not one byte of the body
    assert answer(received).status == 413
    assert b"100 Continue" not in received
    assert json.loads(answer(received).body)["error"]["code"] == "PAYLOAD_TOO_LARGE"
    assert running.upstream.connections == 0
    assert running.gate.budget.peak_bytes == 0


@pytest.mark.parametrize("length", ["9" * 18, "9" * 19, "9" * 5000])
async def test_absurd_lengths(start, answer, length) -> None:
    running = await start()
    received = answer(await running.secure(running.get("/", method="POST", headers=f"Content-Length: {length}\r\n")))
    assert received.status in (400, 413)


async def test_the_sender_of_a_refused_upload_sees_why(start, answer) -> None:
    running = await start(limits=SMALL)
    received = answer(await running.secure(post(running, bytes(2_000_000), close=False)))
    assert (received.status, received.headers["connection"]) == (413, "close")
    await running.settled()
    # What came with the head, at most.
    assert running.gate.budget.peak_bytes < 70_000
    assert running.gate.budget.used_bytes == 0


async def test_a_chunked_body_over_the_limit(start, answer) -> None:
    running = await start(limits=SMALL)
    head = running.get("/", method="POST", headers="Transfer-Encoding: chunked\r\n")
    received = answer(await running.secure(head + b"4000\r\n%b\r\n" % bytes(0x4000) * 10))
    assert received.status == 413
    assert running.upstream.connections == 0
    await running.settled()
    assert running.gate.budget.used_bytes == 0
    assert running.gate.budget.peak_bytes <= SMALL.body


async def test_expect_continue(start, answer) -> None:
    running = await start()
    reader, writer = await running.tunnel()
    writer.write(running.get("/", method="POST", headers="Content-Length: 4\r\nExpect: 100-continue\r\n"))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
    writer.write(b"body")
    assert answer(await reader.read(65536)).status == 200
    writer.close()
    assert running.upstream.bodies == [b"body"]


async def test_many_uploads_at_once_stay_within_the_budget(start, answer) -> None:
    running = await start(limits=SMALL)
    held = asyncio.Event()

    async def hold(_) -> None:
        await held.wait()

    running.decide.before = hold
    uploads = [asyncio.ensure_future(running.secure(post(running, bytes(90_000)), wait_seconds=20)) for _ in range(40)]
    async with asyncio.timeout(20):
        while sum(upload.done() for upload in uploads) < 37:
            await asyncio.sleep(0.02)
    assert 0 < running.gate.budget.used_bytes <= SMALL.buffered
    held.set()
    statuses = [answer(received).status for received in await asyncio.gather(*uploads)]
    assert statuses.count(200) == len(running.upstream.heads) == 3
    assert statuses.count(503) == 37
    assert running.gate.budget.peak_bytes <= SMALL.buffered
    await running.settled()
    assert running.gate.budget.used_bytes == 0


@pytest.mark.parametrize("moment", ["in the body", "held", "answered"])
async def test_every_byte_is_given_back(start, moment) -> None:
    running = await start(limits=SMALL)
    reached = asyncio.Event()

    async def hold(_) -> None:
        reached.set()
        if moment == "held":
            await asyncio.sleep(60)

    running.decide.before = hold
    _, writer = await running.tunnel()
    request = post(running, bytes(50_000), close=False)
    writer.write(request[:-1000] if moment == "in the body" else request)
    if moment == "in the body":
        async with asyncio.timeout(30):
            while not running.gate.budget.used_bytes:
                await asyncio.sleep(0.01)
    else:
        await reached.wait()
        assert running.gate.budget.used_bytes == 50_000
    writer.close()
    await running.settled()
    assert running.gate.budget.used_bytes == 0


async def test_bytes_that_arrive_while_a_hook_waits_count(start) -> None:
    class Waits:
        async def requestheaders(self, flow) -> None:
            await asyncio.sleep(0.5)

    running = await start(before=[Waits()], limits=SMALL)
    head = running.get("/", method="POST", headers="Transfer-Encoding: chunked\r\n")
    received = await running.secure(head + b"4000\r\n%b\r\n" % bytes(0x4000) * 10)
    assert b" 200 " not in received
    assert running.upstream.connections == 0
    assert running.gate.budget.peak_bytes <= SMALL.body
    await running.settled()
    assert running.gate.budget.used_bytes == 0


@pytest.mark.parametrize("sent", [0, 1000])
async def test_an_upload_that_stalls(start, answer, sent) -> None:
    running = await start(limits=RequestLimits(upload_seconds=0.2))
    head = running.get("/", method="POST", headers="Content-Length: 5000\r\n")
    received = answer(await running.secure(head + bytes(sent)))
    assert received.status == 400
    assert "did not arrive" in json.loads(received.body)["error"]["message"]
    assert running.upstream.connections == 0
    assert running.gate.budget.used_bytes == 0


async def test_the_deadline_is_for_the_upload_only(start, answer) -> None:
    running = await start(limits=RequestLimits(upload_seconds=0.2))

    async def hold(_) -> None:
        await asyncio.sleep(0.5)

    running.decide.before = hold
    reader, writer = await running.tunnel()
    for _ in range(2):
        writer.write(
            running.get("/", method="POST", headers="Content-Length: 4\r\n").replace(b"Connection: close\r\n", b"")
        )
        await asyncio.sleep(0.05)
        writer.write(b"body")
        assert answer(await reader.read(65536)).status == 200
    writer.close()
    assert running.upstream.bodies == [b"body", b"body"]


async def test_bytes_pipelined_behind_a_held_request_are_bounded(start) -> None:
    running = await start()

    async def hold(_) -> None:
        await asyncio.sleep(60)

    running.decide.before = hold
    _, writer = await running.tunnel()
    writer.write(running.get().replace(b"Connection: close\r\n", b""))
    writer.write(bytes(500_000))
    await running.settled()
    writer.close()
    assert running.upstream.connections == 0


async def test_pipelined_requests_are_each_decided(start) -> None:
    running = await start()
    first = running.get("/1").replace(b"Connection: close\r\n", b"")
    received = await running.secure(first + running.get("/../2") + running.get("/3"))
    assert received.count(b"HTTP/1.1 200") == 1
    assert [head.split()[1] for head in running.upstream.heads] == [b"/1"]


async def test_an_event_stream_arrives_as_it_is_sent(start) -> None:
    running = await start()
    reader, writer = await running.tunnel()
    writer.write(running.get("/events"))
    async with asyncio.timeout(30):
        received = await reader.readuntil(b"data: 1\n\n")
    assert b"data: 2" not in received
    assert running.decide.completions == []
    running.upstream.gate.set()
    rest = await reader.read()
    writer.close()
    assert rest.endswith(b"data: 2\n\n\r\n0\r\n\r\n")
    assert rest.count(b"0\r\n\r\n") == 1
    [completion] = running.decide.completions
    assert (completion.ending, completion.status, completion.size_bytes) == (Ending.COMPLETE, 200, 18)
    assert completion.digest == "sha256:" + hashlib.sha256(b"data: 1\n\ndata: 2\n\n").hexdigest()


@pytest.mark.parametrize(("path", "method", "size"), [("/", "GET", 5), ("/", "HEAD", 0), ("/empty", "GET", 0)])
async def test_completion(start, path, method, size) -> None:
    running = await start()
    await running.secure(running.get(path, method=method), wait_seconds=1)
    await running.settled()
    [completion] = running.decide.completions
    assert (completion.ending, completion.size_bytes) == (Ending.COMPLETE, size)
    assert completion.digest == "sha256:" + hashlib.sha256(b"hello"[:size]).hexdigest()


async def test_a_large_response_is_not_collected(start, answer) -> None:
    running = await start(limits=SMALL)
    received = answer(await running.secure(running.get("/large/5000000"), wait_seconds=20))
    assert (received.status, len(received.body)) == (200, 5_000_000)
    assert running.decide.completions[0].size_bytes == 5_000_000


@pytest.mark.parametrize(("path", "status"), [("/broken", 200), ("/garbage", None)])
async def test_an_answer_that_breaks_off(start, path, status) -> None:
    running = await start()
    received = await running.secure(running.get(path), wait_seconds=2)
    await running.settled()
    [completion] = running.decide.completions
    assert (completion.ending, completion.status) == (Ending.BROKEN, status)
    assert completion.error
    assert b"HTTP/1.1 502" in received or path == "/broken"


async def test_a_client_that_leaves_in_the_middle_of_the_answer(start) -> None:
    running = await start()
    reader, writer = await running.tunnel()
    writer.write(running.get("/events"))
    await reader.readuntil(b"data: 1\n\n")
    writer.close()
    await running.settled()
    [completion] = running.decide.completions
    assert (completion.ending, completion.size_bytes) == (Ending.LEFT, 9)


async def test_one_agents_held_uploads_leave_room_for_others(start, answer) -> None:
    """What is held of an agent takes half of the budget at most."""

    class ByPath:
        def requestheaders(self, flow) -> None:
            flow_state(flow).client.caller = caller_named(flow.request.path)

    held = asyncio.Event()

    async def hold(flow) -> None:
        if flow.request.path == "/greedy":
            await held.wait()

    running = await start(before=[ByPath()], limits=RequestLimits(body=100_000, buffered=400_000))
    running.decide.before = hold
    greedy = post(running, bytes(90_000)).replace(b"POST / ", b"POST /greedy ")
    uploads = [asyncio.ensure_future(running.secure(greedy, wait_seconds=20)) for _ in range(8)]
    async with asyncio.timeout(20):
        while sum(upload.done() for upload in uploads) < 6:
            await asyncio.sleep(0.02)
    assert running.gate.budget.used_bytes == 180_000
    other = post(running, bytes(90_000)).replace(b"POST / ", b"POST /other ")
    assert answer(await running.secure(other)).status == 200
    held.set()
    statuses = sorted(answer(received).status for received in await asyncio.gather(*uploads))
    assert statuses == [200] * 2 + [503] * 6
    await running.settled()
    assert running.gate.budget.used_bytes == 0
