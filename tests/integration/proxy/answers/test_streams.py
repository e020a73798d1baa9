"""Event streams and streams of lines: inspected piece by piece, and cut where a policy objects."""

import asyncio
import gzip
import json
import re

import pytest
from structlog.testing import capture_logs

from addons.inspection import AnswerLimits
from addons.streaming import Streaming
from addons.verdict import Ending
from headgate.nlp_policies.model import OnMatch
from tests.integration.proxy.answers.scripts import (
    CHUNKED,
    MAIL,
    SECRETS,
    TOKEN,
    ask,
    chunk,
    error_of,
    event,
    plain,
    policy,
)


async def test_events_are_forwarded_as_they_come(inspect) -> None:
    running = await inspect()
    reader, writer = await running.tunnel()
    writer.write(running.get("/events"))
    async with asyncio.timeout(30):
        received = await reader.readuntil(b"data: 1\n\n")
    assert b"data: 2" not in received
    running.upstream.gate.set()
    rest = await reader.read()
    writer.close()
    assert rest.endswith(b"data: 2\n\n\r\n0\r\n\r\n")
    await running.settled()
    [completion] = running.decide.completions
    assert (completion.ending, completion.size_bytes) == (Ending.COMPLETE, 18)
    assert completion.inspection["withheld"] is False
    assert len(completion.inspection["nlp"]) == 2


async def test_tags_of_a_stream_are_those_of_all_its_events(inspect, answer) -> None:
    running = await inspect(policy(on_match=OnMatch.TAG))
    events = [
        event("hello"),
        event(f"write to {MAIL}"),
        *[event("and that is all")] * 9,
        event("DE89370400440532013000"),
    ]
    received, _, completion = await ask(running, answer, CHUNKED + b"text/event-stream\r\n\r\n", *events, b"0\r\n\r\n")
    assert (received.status, MAIL.encode() in received.body) == (200, True)
    [entry] = completion.inspection["nlp"]
    assert (entry["decision"], sorted(entry["tags"]), entry["outcome"]) == ("tag", ["email", "iban"], "match")


def deltas(text: str, size: int) -> list[bytes]:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [event(json.dumps({"id": "c1", "choices": [{"delta": {"content": one}}]})) for one in pieces]


@pytest.mark.parametrize("mcp_id", [None, "a"])
@pytest.mark.parametrize(
    "events",
    [
        [event("hello"), event(f"the token is {TOKEN}")],
        [event("hello"), event(f"the token is {TOKEN[:20]}"), event(TOKEN[20:] + " there")],
        [event("hello"), *deltas(f"the token is {TOKEN} there", 5)],
        [event("hello"), event("see"), event(TOKEN[:9]), event(TOKEN[9:20]), event(TOKEN[20:])],
        [event("hello"), chunk(b"data: the token is " + TOKEN[:9].encode()), chunk(TOKEN[9:].encode() + b"\n\n")],
        [event("hello"), chunk(f": {TOKEN}\n\n".encode())],
        [event("hello"), chunk(f"id: {TOKEN}\ndata: 1\r\n\r\n".encode())],
        [event("hello"), chunk(f"data: {TOKEN}".encode())],
    ],
)
async def test_a_stream_is_cut_where_it_matches(inspect, answer, events, mcp_id) -> None:
    running = await inspect(SECRETS, mcp_id=mcp_id)
    received, raw, completion = await ask(
        running, answer, CHUNKED + b"text/event-stream\r\n\r\n", *events, b"0\r\n\r\n"
    )
    assert received.status == 200
    assert b"data: hello\n\n" in received.body
    assert not received.complete
    assert TOKEN.encode() not in raw.replace(b"data: ", b"")
    assert TOKEN[-8:].encode() not in raw
    last = json.loads(raw.rpartition(b"\ndata: ")[2].partition(b"\n")[0])
    if mcp_id is None:
        assert last["error"]["code"] == "RESPONSE_WITHHELD"
    else:
        assert (last["id"], last["error"]["data"]["error"]["code"]) == ("a", "RESPONSE_WITHHELD")
    assert completion.ending is Ending.COMPLETE
    assert (completion.status, completion.inspection["withheld"]) == (200, True)
    assert completion.inspection["nlp"][0]["outcome"] == "match"


async def test_lines_are_cut_as_well(inspect, answer) -> None:
    running = await inspect(SECRETS)
    lines = [chunk(b'{"n": 1}\n'), chunk(f'{{"n": "{TOKEN}"}}\n'.encode()), b"0\r\n\r\n"]
    _, raw, completion = await ask(running, answer, CHUNKED + b"application/x-ndjson\r\n\r\n", *lines)
    assert b'{"n": 1}\n' in raw
    assert b"RESPONSE_WITHHELD" in raw
    assert TOKEN.encode() not in raw
    assert completion.inspection["withheld"] is True


def message(of: str) -> bytes:
    """A message of gRPC with one field, in a chunk of its own."""
    data = b"\n" + bytes([len(of)]) + of.encode()
    return chunk(b"\0" + len(data).to_bytes(4, "big") + data)


@pytest.mark.parametrize("form", ["application/grpc", "application/connect+proto"])
async def test_messages_over_http_1_are_cut_as_well(inspect, answer, form: str) -> None:
    """Without the status of gRPC, which is in trailers."""
    running = await inspect(SECRETS)
    script = [CHUNKED + f"{form}\r\n\r\n".encode(), message("hello"), message("you"), message(TOKEN), b"0\r\n\r\n"]
    with capture_logs() as logged:
        received, raw, completion = await ask(running, answer, *script, method="POST")
    assert b"hello" in received.body
    assert not received.complete
    assert TOKEN.encode() not in raw
    assert completion.inspection["withheld"] is True
    assert "connection_crashed" not in str(logged)


async def test_the_head_of_a_stream_is_looked_at_first(inspect, answer) -> None:
    running = await inspect()
    script = [CHUNKED + f"text/event-stream\r\nx-owner: {MAIL}\r\n\r\n".encode(), event("x"), b"0\r\n\r\n"]
    received, raw, _ = await ask(running, answer, *script)
    assert "email" in error_of(received)["message"]
    assert MAIL.encode() not in raw


async def test_an_event_that_does_not_end_is_not_kept(inspect, answer) -> None:
    running = await inspect(limits=AnswerLimits(body=5_000))
    script = [CHUNKED + b"text/event-stream\r\n\r\n", event("hello"), *[chunk(b"data: " + b"x" * 1000)] * 9]
    _, raw, completion = await ask(running, answer, *script)
    assert b"data: hello\n\n" in raw
    assert b"larger than the 5000 bytes" in raw
    assert completion.inspection["withheld"] is True


async def test_a_stream_that_a_language_model_judges_is_collected(inspect, answer) -> None:
    running = await inspect(policy(provider="openai_compatible", model="m"))
    script = [CHUNKED + b"text/event-stream\r\n\r\n", event("hello"), b"0\r\n\r\n"]
    received, raw, _ = await ask(running, answer, *script)
    assert "not_configured" in error_of(received)["message"]
    assert b"hello" not in raw


@pytest.mark.parametrize("text", [f"write to {MAIL} today", "the card is 4111 1111 1111 1111, valid 03/28"])
@pytest.mark.parametrize("size", [4, 9])
async def test_personal_data_in_the_deltas_of_a_model(inspect, answer, text, size) -> None:
    running = await inspect(policy())
    script = [CHUNKED + b"text/event-stream\r\n\r\n", *deltas(text, size), b"0\r\n\r\n"]
    _, raw, completion = await ask(running, answer, *script)
    assert completion.inspection["withheld"] is True
    shown = re.sub(r'.*?"content": "(.*?)"}}]}|.+', r"\1", raw.decode(), flags=re.DOTALL)
    assert text.startswith(shown[:9])
    assert text not in shown


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("cause", [ValueError, asyncio.CancelledError, GeneratorExit])
async def test_a_hook_that_fails_lets_nothing_of_a_stream_through(inspect, cause, waits) -> None:
    class Exploding:
        def answer_piece(self, _):
            return self._later() if waits else self._now()

        async def _later(self) -> None:
            await asyncio.sleep(0)
            raise cause()

        def _now(self) -> None:
            raise cause()

    running = await inspect(after=[Exploding()])
    received = await running.secure(running.get("/events"), wait_seconds=2)
    assert received == b""
    await running.settled()


async def test_a_stream_that_no_addon_looks_at_is_withheld(inspect, answer, monkeypatch) -> None:
    """Should the hook ever have another name on one of its two sides."""
    monkeypatch.delattr(Streaming, "answer_piece")
    running = await inspect()
    script = [CHUNKED + b"text/event-stream\r\n\r\n", event("x"), b"0\r\n\r\n"]
    received, raw, _ = await ask(running, answer, *script)
    assert "nobody looked at it" in error_of(received)["message"]
    assert b"data: x" not in raw


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("version", ["1.1", "1.0"])
async def test_a_stream_that_names_its_length_has_room_for_the_refusal(inspect, version: str, cut: bool) -> None:
    """As some MCP servers answer: one event, sent as a whole. Cut at its length, the refusal would be no JSON."""
    running = await inspect(SECRETS)
    body = f"data: {TOKEN if cut else 'fine'}\n\n".encode()
    running.upstream.scripts[b"/it"] = [plain(body, "content-type: text/event-stream")]
    asked = running.get("/it").replace(b"HTTP/1.1", f"HTTP/{version}".encode())
    head, _, received = (await running.secure(asked, wait_seconds=2)).partition(b"\r\n\r\n")
    assert b"content-length" not in head.lower()
    assert (b"transfer-encoding: chunked" in head.lower()) == (version == "1.1")
    if cut:
        said = json.loads(received.partition(b"data: ")[2].partition(b"\n")[0])
        assert said["error"]["code"] == "RESPONSE_WITHHELD"
        assert not received.endswith(b"0\r\n\r\n")
    else:
        assert received == (chunk(body) + b"0\r\n\r\n" if version == "1.1" else body)


async def test_a_client_of_http_1_0_gets_a_stream_in_chunks_without_them(inspect) -> None:
    running = await inspect(SECRETS)
    running.upstream.scripts[b"/it"] = [CHUNKED + b"text/event-stream\r\n\r\n", event("a"), event("b"), b"0\r\n\r\n"]
    asked = running.get("/it").replace(b"HTTP/1.1", b"HTTP/1.0")
    head, _, received = (await running.secure(asked, wait_seconds=2)).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert received == b"data: a\n\ndata: b\n\n"


@pytest.mark.parametrize(("text", "status"), [("fine", 200), (MAIL, 403)])
async def test_a_stream_in_a_content_coding_is_collected(inspect, answer, text, status) -> None:
    running = await inspect()
    coded = gzip.compress(f"data: {text}\n\n".encode())
    script = [CHUNKED + b"text/event-stream\r\ncontent-encoding: gzip\r\n\r\n", chunk(coded[:9]), chunk(coded[9:])]
    received, raw, _ = await ask(running, answer, *script, b"0\r\n\r\n")
    assert received.status == status
    assert (coded[:9] in raw) == (status == 200)


async def test_a_stream_in_a_content_coding_that_does_not_end(inspect, answer) -> None:
    running = await inspect(limits=AnswerLimits(seconds=0.3))
    head = CHUNKED + b"text/event-stream\r\ncontent-encoding: gzip\r\n\r\n"
    received, _, _ = await ask(running, answer, head, *[chunk(b"x")] * 50)
    assert "did not end within" in error_of(received)["message"]


@pytest.mark.parametrize("content_type", ["application/grpc", "application/connect+json"])
async def test_events_for_a_client_of_grpc_are_cut_as_events(inspect, answer, content_type: str) -> None:
    """Its own form of a refusal is no JSON, of which an event could be made."""
    running = await inspect(SECRETS)
    running.upstream.scripts[b"/it"] = [CHUNKED + b"text/event-stream\r\n\r\n", event("hello"), event(TOKEN)]
    head = running.get("/it", method="POST", headers=f"Content-Type: {content_type}\r\nContent-Length: 0\r\n")
    received = await running.secure(head, wait_seconds=2)
    assert TOKEN.encode() not in received
    assert b"event: error\ndata: {" in received
    assert b"RESPONSE_WITHHELD" in received
