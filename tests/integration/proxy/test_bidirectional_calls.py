"""Bidirectional calls of gRPC: a gate that decides with a double. The library's own clients and servers are in
tests/e2e/test_grpc.py."""

import asyncio
import json

import pytest

from addons.limits import RequestLimits
from addons.verdict import Ending
from headgate.gate.refusals import ActionDeniedError
from tests.integration.proxy.bidirectional_call import (
    CUT,
    END,
    RECEIVED,
    Decide,
    Messages,
    begun,
    denies,
    finished,
    framed,
    until,
)


async def test_each_message_is_decided_and_answered_before_the_next(start, grpc_server: int) -> None:
    decide = Decide()
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    for number, said in enumerate((b"one", b"two", b"three")):
        client.send(framed(said))
        await client.read(until=lambda said=said: client.data.endswith(framed(said)))
        assert len(decide.messages.decided) == number
    client.send(b"", ends=True)
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "0"
    assert decide.messages.forwarded == [len(framed(b"two")), len(framed(b"three"))]
    assert [one.ending for one in decide.completions] == [Ending.COMPLETE]
    await finished(running, client)


async def test_a_client_that_waits_for_the_server_to_speak_first(start, grpc_server: int) -> None:
    decide = Decide()
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    await client.read(until=lambda: bool(client.headers))
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    assert decide.messages.decided == [framed(b"one")]
    await finished(running, client)


async def test_a_call_whose_first_messages_are_refused_reaches_nobody(start, grpc_server: int) -> None:
    decide = Decide(first=ActionDeniedError("never", details={"action_id": "act_1"}))
    running = await start(decide=decide)
    client = await begun(running, grpc_server, "Refused")
    client.send(framed(b"one"))
    await client.read(until=lambda: client.is_ended)
    assert client.headers["grpc-status"] == "7"
    client.send(framed(b"two"))
    await client.read(until=lambda: client.is_reset)
    assert "Refused" not in RECEIVED
    assert not decide.messages.decided
    await finished(running, client)


async def test_a_message_that_is_refused_after_the_answer_has_begun(start, grpc_server: int) -> None:
    decide = Decide(messages=Messages(denies))
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.send(framed(b"secret"))
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "7"
    assert "no secrets" in client.trailers["grpc-message"]
    [completion] = decide.completions
    assert completion.ending is Ending.BROKEN
    await finished(running, client)
    await until(lambda: RECEIVED["Chat"] == [framed(b"one"), CUT])


async def test_a_message_that_is_refused_before_any_answer(start, grpc_server: int) -> None:
    decide = Decide(messages=Messages(denies))
    running = await start(decide=decide)
    client = await begun(running, grpc_server, "Silent")
    client.send(framed(b"one"))
    await until(lambda: RECEIVED.get("Silent") == [framed(b"one")])
    client.send(framed(b"secret"))
    await client.read(until=lambda: client.is_ended)
    assert (client.trailers or client.headers)["grpc-status"] == "7"
    await finished(running, client)
    await until(lambda: RECEIVED["Silent"] == [framed(b"one"), CUT])
    assert [one.ending for one in decide.completions] == [Ending.BROKEN]


async def test_a_refusal_of_connect_is_its_last_frame(start, grpc_server: int) -> None:
    decide = Decide(messages=Messages(denies))
    running = await start(decide=decide)
    client = await begun(running, grpc_server, form="application/connect+proto")
    client.send(framed(b"one"))
    await until(lambda: bool(decide.decided))
    client.send(framed(b"secret"))
    await client.read(until=lambda: client.is_ended)
    assert client.data.startswith(b"\2")
    assert json.loads(client.data[5:])["error"]["code"] == "permission_denied"
    await finished(running, client)


async def test_an_exception_in_the_gate_refuses(start, grpc_server: int) -> None:
    async def fails(_: bytes) -> bytes:
        raise RuntimeError

    decide = Decide(messages=Messages(fails))
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.send(framed(b"two"))
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "14"
    assert not decide.messages.forwarded
    await finished(running, client)
    await until(lambda: RECEIVED["Chat"] == [framed(b"one"), CUT])


async def test_what_arrives_during_a_decision_is_one_action(start, grpc_server: int) -> None:
    decided = asyncio.Event()

    async def waits(frames: bytes) -> bytes:
        await decided.wait()
        return frames

    decide = Decide(messages=Messages(waits))
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.send(framed(b"two"))
    await until(lambda: len(decide.messages.decided) == 1)
    client.send(framed(b"three") + framed(b"four"), ends=True)
    await client.ping()
    decided.set()
    await client.read(until=lambda: client.is_ended)
    assert decide.messages.decided == [framed(b"two"), framed(b"three") + framed(b"four")]
    assert client.data == b"".join(map(framed, (b"one", b"two", b"three", b"four")))
    assert client.trailers["grpc-status"] == "0"
    await finished(running, client)


async def test_a_client_that_leaves_while_its_message_is_decided(start, grpc_server: int) -> None:
    decided = asyncio.Event()

    async def waits(frames: bytes) -> bytes:
        await decided.wait()
        return frames

    decide = Decide(messages=Messages(waits))
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.send(framed(b"two"))
    await until(lambda: len(decide.messages.decided) == 1)
    client.connection.reset_stream(client.stream, 8)
    client.flush()
    await until(lambda: decide.messages.left == 1)
    decided.set()
    await until(lambda: decide.messages.dropped == 1)
    assert not decide.messages.forwarded
    await until(lambda: RECEIVED["Chat"] == [framed(b"one"), CUT])
    assert [one.ending for one in decide.completions] == [Ending.BROKEN]
    await finished(running, client)


async def test_a_server_that_answers_without_waiting_for_more(start, grpc_server: int) -> None:
    decided = asyncio.Event()

    async def waits(frames: bytes) -> bytes:
        await decided.wait()
        return frames

    decide = Decide(messages=Messages(waits))
    running = await start(decide=decide)
    client = await begun(running, grpc_server, "One")
    client.send(framed(b"one"))
    await client.read(until=lambda: client.is_ended)
    assert (client.data, client.trailers["grpc-status"]) == (framed(b"one"), "0")
    client.send(framed(b"two"), ends=True)
    await client.ping()
    assert not decide.messages.decided
    assert [one.ending for one in decide.completions] == [Ending.COMPLETE]
    await finished(running, client)


async def test_a_server_that_fails(start, grpc_server: int) -> None:
    decide = Decide()
    running = await start(decide=decide)
    client = await begun(running, grpc_server, "Broken")
    client.send(framed(b"one"))
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "15"
    [completion] = decide.completions
    assert completion.told_failure == "the server answered gRPC status 15"
    await finished(running, client)


async def test_more_than_may_be_held_is_refused(start, grpc_server: int) -> None:
    async def waits(_: bytes) -> bytes:
        return await asyncio.Event().wait() or b""

    decide = Decide(messages=Messages(waits))
    running = await start(decide=decide, limits=RequestLimits(body=1000))
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.send(framed(bytes(900)))
    await until(lambda: len(decide.messages.decided) == 1)
    client.send(framed(bytes(900)))
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "8"
    await finished(running, client)
    await until(lambda: RECEIVED["Chat"] == [framed(b"one"), CUT])


async def test_a_message_that_does_not_end_is_decided_as_it_is(start, grpc_server: int) -> None:
    decide = Decide()
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.send(framed(b"two") + b"\0\0", ends=True)
    await client.read(until=lambda: client.is_ended)
    assert b"".join(decide.messages.decided) == framed(b"two") + b"\0\0"
    await finished(running, client)


async def test_trailers_of_the_client_are_refused(start, grpc_server: int) -> None:
    decide = Decide()
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.connection.send_headers(client.stream, [("x-secret", "one")], end_stream=True)
    client.flush()
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "12"
    await finished(running, client)
    await until(lambda: RECEIVED["Chat"] == [framed(b"one"), CUT])


async def test_what_is_forwarded_is_what_was_admitted(start, grpc_server: int) -> None:
    """As where a policy masks a message."""

    async def masks(frames: bytes) -> bytes:
        return frames.replace(b"secret", b"******")

    running = await start(decide=Decide(messages=Messages(masks)))
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.send(framed(b"a secret"), ends=True)
    await client.read(until=lambda: client.is_ended)
    assert RECEIVED["Chat"] == [framed(b"one"), framed(b"a ******"), END]
    await finished(running, client)


async def test_a_call_without_a_decider_of_its_messages_fails_closed(start, grpc_server: int) -> None:
    running = await start()
    client = await begun(running, grpc_server, "Nobody")
    client.send(framed(b"one"))
    with pytest.raises(ConnectionResetError):
        await client.read(until=lambda: bool(client.headers))
    assert "Nobody" not in RECEIVED
