"""Answers of bidirectional calls of gRPC: each message is inspected before the client sees it."""

import asyncio
import gzip
import json

from mitmproxy.http import HTTPFlow

from addons.inspection import AnswerLimits
from addons.limits import RequestLimits
from addons.verdict import flow_state
from headgate.policies.model import Verdict
from tests.integration.proxy.answers.scripts import MAIL, SECRETS, TOKEN, policy
from tests.integration.proxy.bidirectional_call import CUT, RECEIVED, Messages, begun, denies, framed, until


def text(of: str) -> bytes:
    """A message with one field."""
    data = of.encode()
    return framed(b"\n" + bytes([len(data)]) + data)


async def test_a_message_that_is_found_ends_the_call(inspect, grpc_server: int) -> None:
    """The server answers with what the client says."""
    running = await inspect(SECRETS)
    client = await begun(running, grpc_server)
    client.send(text("hello"))
    await client.read(until=lambda: client.data == text("hello"))
    client.send(text(TOKEN))
    await client.read(until=lambda: client.is_ended)
    assert client.data == text("hello")
    assert client.trailers["grpc-status"] == "7"
    assert TOKEN not in str(client.trailers)
    client.writer.close()
    await running.settled()
    assert RECEIVED["Chat"][-1] == CUT
    [completion] = running.decide.completions
    assert completion.inspection["withheld"] is True
    assert running.gate.budget.used_bytes == 0


async def test_what_two_messages_make_together_is_found(inspect, grpc_server: int) -> None:
    running = await inspect(SECRETS)
    client = await begun(running, grpc_server)
    half = len(TOKEN) // 2
    client.send(text(TOKEN[:half]))
    await client.read(until=lambda: client.data == text(TOKEN[:half]))
    client.send(text(TOKEN[half:]))
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "7"
    assert TOKEN[half:].encode() not in client.data
    client.writer.close()


async def test_an_answer_that_is_fine_ends_with_its_trailers(inspect, grpc_server: int) -> None:
    running = await inspect()
    client = await begun(running, grpc_server)
    client.send(text("hello"))
    await client.read(until=lambda: client.data == text("hello"))
    client.send(b"", ends=True)
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "0"
    client.writer.close()
    await running.settled()
    assert running.gate.budget.used_bytes == 0


async def test_trailers_are_inspected(inspect, grpc_server: int) -> None:
    running = await inspect()
    client = await begun(running, grpc_server, "Told")
    client.send(text("hello"))
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "7"
    assert MAIL not in str(client.trailers)
    client.writer.close()


async def test_a_message_that_cannot_be_read_is_what_the_policy_says(inspect, grpc_server: int) -> None:
    running = await inspect(policy(on_unscannable=Verdict.DENY))
    client = await begun(running, grpc_server)
    packed = gzip.compress(b"\n\x02hi")
    client.send(b"\1" + len(packed).to_bytes(4, "big") + packed)  # no coding is named
    await client.read(until=lambda: client.is_ended)
    assert client.trailers["grpc-status"] == "7"
    assert not client.data
    client.writer.close()


async def test_a_stream_of_messages_passes_from_the_second_on(inspect, grpc_server: int) -> None:
    """The request has ended, and the answer has not."""
    running = await inspect(SECRETS)
    client = await begun(running, grpc_server, "Watch")
    client.send(text("hello"), ends=True)
    await client.read(until=lambda: client.data == text("hello") * 2)
    assert not client.is_ended
    client.connection.reset_stream(client.stream)
    client.flush()
    client.writer.close()
    await running.settled()
    assert running.gate.budget.used_bytes == 0


async def test_a_stream_whose_second_message_is_found_is_withheld(inspect, grpc_server: int) -> None:
    running = await inspect(SECRETS)
    client = await begun(running, grpc_server, "Watch")
    client.send(text(TOKEN), ends=True)
    await client.read(until=lambda: client.is_ended)
    assert (client.trailers or client.headers)["grpc-status"] == "7"
    assert TOKEN.encode() not in client.data
    client.writer.close()
    await running.settled()
    assert running.decide.completions[0].inspection["withheld"] is True
    assert running.gate.budget.used_bytes == 0


class WaitsForPieces:
    """Of the answer, until it is told."""

    def __init__(self) -> None:
        self.told = asyncio.Event()

    async def answer_piece(self, _: HTTPFlow) -> None:
        await self.told.wait()


async def test_what_finds_no_room_while_the_answer_is_inspected_ends_the_call(inspect, grpc_server: int) -> None:
    """Left out in silence, the server would take what is left for all that was said."""
    waits = WaitsForPieces()
    running = await inspect(after=[waits], requests=RequestLimits(body=1000))
    client = await begun(running, grpc_server)
    client.send(text("one"))
    await client.ping()
    await until(lambda: RECEIVED.get("Chat") == [text("one")])
    client.send(framed(bytes(2000)))
    client.send(text("three"))
    await client.ping()
    waits.told.set()
    await client.read(until=lambda: client.is_ended)
    assert (client.trailers or client.headers)["grpc-status"] == "8"
    client.writer.close()
    await running.settled()
    assert RECEIVED["Chat"] == [text("one"), CUT]
    assert running.gate.budget.used_bytes == 0


async def test_more_messages_than_are_read_at_once_all_pass(inspect, grpc_server: int) -> None:
    """A client that waits for the last of them sends nothing else."""
    running = await inspect()
    client = await begun(running, grpc_server, "Watch")
    many = text("") * 1_000
    client.send(many)
    await client.read(until=lambda: len(client.data) == 2 * len(many))
    client.writer.close()


async def test_an_answer_that_is_withheld_late_ends_the_call(inspect, grpc_server: int) -> None:
    """Its client need not say anything for that."""
    running = await inspect(policy(on_unscannable=Verdict.DENY), limits=AnswerLimits(seconds=0.3))
    client = await begun(running, grpc_server, "Json", "application/connect+proto")
    client.send(text("hello"))
    await client.read(until=lambda: client.is_ended)
    assert json.loads(client.data[5:])["error"]["code"] == "permission_denied"
    client.writer.close()
    await running.settled()
    assert RECEIVED["Json"][-1] == CUT
    assert running.gate.budget.used_bytes == 0


class SeesAnswers:
    """Tells when the head of an answer has come."""

    def __init__(self) -> None:
        self.seen = asyncio.Event()

    def responseheaders(self, _: HTTPFlow) -> None:
        self.seen.set()


async def test_a_message_that_is_refused_while_the_answer_is_collected(inspect, grpc_server: int) -> None:
    answers = SeesAnswers()
    running = await inspect(policy(on_unscannable=Verdict.DENY), after=[answers])
    covered = running.decide.before

    async def decided(flow: HTTPFlow) -> None:
        await covered(flow)
        flow_state(flow).later_messages = Messages(denies)  # type: ignore[assignment] # a double

    running.decide.before = decided
    client = await begun(running, grpc_server, "Json", "application/connect+proto")
    client.send(text("hello"))
    await answers.seen.wait()
    client.send(text("secret"))
    await client.read(until=lambda: client.is_ended)
    assert json.loads(client.data[5:])["error"]["code"] == "permission_denied"
    client.writer.close()
    await running.settled()
    assert running.gate.budget.used_bytes == 0
