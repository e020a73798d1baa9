"""Bidirectional calls of gRPC in which something goes wrong: whatever it is, one call ends, and no other one of the
connection."""

import asyncio
from dataclasses import dataclass

import pytest
from mitmproxy.http import HTTPFlow

from addons.http_call import http_call
from addons.limits import RequestLimits
from addons.metrics import GATE_FAILURES
from addons.verdict import Ending, flow_state, is_open
from headgate.connections.echoes import EchoMask
from tests.integration.proxy.bidirectional_call import (
    END,
    RECEIVED,
    SERVING,
    Decide,
    Messages,
    begun,
    finished,
    framed,
    until,
)
from tests.integration.proxy.conftest import Allow

SECRET = b"tok_live/9f8e7d6c5b4a"


def carry(flow: HTTPFlow) -> None:
    """As ``addons.credentials``."""
    flow_state(flow).outgoing = http_call(flow)
    flow_state(flow).echoes = EchoMask(frozenset({SECRET}))


@dataclass
class Carry(Allow):
    async def request(self, flow: HTTPFlow) -> None:
        if is_open(flow):
            carry(flow)
        await super().request(flow)


async def pause() -> None:
    """As long as the gate's timer runs. Of two timers in one loop the one that was set first ends first."""
    await asyncio.sleep(RequestLimits().pause_seconds)


async def test_a_call_with_a_credential_that_ends_its_messages_before_the_pause(start, grpc_server: int) -> None:
    running = await start(decide=Carry())
    client = await begun(running, grpc_server, "Silent")
    await client.ping()  # the head is read by itself
    client.send(framed(b"one"), ends=True)
    await until(lambda: RECEIVED.get("Silent") == [framed(b"one"), END])
    await pause()
    await client.ping()
    client.writer.close()
    await running.settled()


async def test_a_pause_that_ends_while_a_call_with_a_credential_is_decided(start, grpc_server: int) -> None:
    async def waits(_: HTTPFlow) -> None:
        await pause()

    running = await start(decide=Carry(before=waits))
    client = await begun(running, grpc_server)
    await client.ping()  # the head is read by itself
    client.send(framed(b"one"), ends=True)
    await client.read(until=lambda: client.is_ended)
    assert (client.data, client.trailers["grpc-status"]) == (framed(b"one"), "0")
    client.writer.close()
    await running.settled()


async def test_what_a_server_does_not_take_counts_as_held(start, grpc_server: int) -> None:
    decide = Decide()
    running = await start(decide=decide, limits=RequestLimits(body=100_000))
    client = await begun(running, grpc_server, "Full")
    client.send(framed(b"one"))
    await client.ping()
    await until(lambda: RECEIVED.get("Full") == [framed(b"one")])
    for number in range(1, 20):
        client.send(framed(bytes(10_000)))
        await until(lambda number=number: len(decide.messages.forwarded) == number or bool(decide.completions))
        if decide.completions:
            break
    await client.read(until=lambda: client.is_ended)
    assert (client.trailers or client.headers)["grpc-status"] == "8"
    assert len(decide.messages.forwarded) < 17  # 65,535 bytes are on their way, and 100,000 held
    await finished(running, client)


async def test_what_finds_no_room_while_the_call_is_decided_is_refused(start, grpc_server: int) -> None:
    asked, decided = asyncio.Event(), asyncio.Event()

    async def waits(_: HTTPFlow) -> None:
        asked.set()
        await decided.wait()

    running = await start(decide=Decide(before=waits), limits=RequestLimits(body=1000))
    client = await begun(running, grpc_server, "Lost")
    client.send(framed(b"one"))
    await asked.wait()
    client.send(framed(bytes(2000)))
    await client.ping()
    decided.set()
    await client.read(until=lambda: client.is_ended)
    assert client.headers["grpc-status"] == "8"
    assert "Lost" not in RECEIVED
    await finished(running, client)


async def test_a_server_that_leaves_while_a_message_is_decided(start, grpc_server: int) -> None:
    """No failure of the gate, which would be counted and logged as one."""
    decided = asyncio.Event()

    async def waits(frames: bytes) -> bytes:
        await decided.wait()
        return frames

    decide = Decide(messages=Messages(waits))
    running = await start(decide=decide)
    failures = failed_decisions()
    client = await begun(running, grpc_server, "Left")
    client.send(framed(b"one"))
    await until(lambda: RECEIVED.get("Left") == [framed(b"one")])
    client.send(framed(b"two"))
    await until(lambda: len(decide.messages.decided) == 1)
    SERVING["Left"].leave()
    await client.read(until=lambda: client.is_ended or client.is_reset)
    decided.set()
    await until(lambda: decide.messages.dropped == 1)
    await client.ping()
    assert failed_decisions() == failures
    assert [one.ending for one in decide.completions] == [Ending.BROKEN]
    assert not decide.messages.forwarded
    await finished(running, client)


def failed_decisions() -> float:
    return GATE_FAILURES.labels(hook="call_message")._value.get()


@dataclass
class CarryOn(Decide):
    async def request(self, flow: HTTPFlow) -> None:
        if is_open(flow):
            carry(flow)
        await super().request(flow)


async def test_a_message_that_ends_as_the_credential_begins_is_not_kept(start, grpc_server: int) -> None:
    """Its client waits for it before it says more."""
    decide = CarryOn()
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    for said in (b"a part", SECRET, b"a pact to"):
        client.send(framed(said))
        shown = said.replace(SECRET, b"*" * len(SECRET))
        await client.read(until=lambda shown=shown: client.data.endswith(framed(shown)))
    assert SECRET not in client.data
    await finished(running, client)


async def test_a_server_that_answers_and_resets_at_once(start, grpc_server: int) -> None:
    """As RFC 9113, 8.1, lets it, where it needs no more of the request."""
    decide = Decide()
    running = await start(decide=decide)
    client = await begun(running, grpc_server, "Reset")
    client.send(framed(b"one"))
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "0"
    client.send(framed(b"two"))
    client.connection.send_data(client.stream, b"")
    client.connection.reset_stream(client.stream)
    await client.ping()
    assert [one.ending for one in decide.completions] == [Ending.COMPLETE]
    assert not decide.messages.forwarded
    await finished(running, client)


async def test_a_message_that_was_admitted_when_the_connection_crashes_is_not_sent(start, grpc_server: int) -> None:
    async def no_bytes(_: bytes) -> bytes:
        return None  # type: ignore[return-value] # what the layer below cannot write

    decide = Decide(messages=Messages(no_bytes))
    running = await start(decide=decide)
    client = await begun(running, grpc_server)
    client.send(framed(b"one"))
    await client.read(until=lambda: client.data == framed(b"one"))
    client.send(framed(b"two"))
    with pytest.raises(ConnectionResetError):
        await client.read(until=lambda: client.is_ended)
    await finished(running, client)
    assert (decide.messages.dropped, decide.messages.forwarded) == (1, [])
    assert [one.ending for one in decide.completions] == [Ending.BROKEN]
