"""Answers that policies about content look at: nothing of one reaches the client before every policy has agreed."""

import asyncio
import gzip
import json

import brotli
import pytest
import zstandard

from addons.limits import RequestLimits
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


async def test_what_nobody_objects_to_is_forwarded_as_it_came(inspect, answer) -> None:
    running = await inspect()
    body = b'{"note": "nothing to see"}'
    received, _, completion = await ask(running, answer, plain(body, "content-type: application/json", "x-a: b"))
    assert (received.status, received.body, received.headers["x-a"]) == (200, body, "b")
    assert (completion.ending, completion.status, completion.size_bytes) == (Ending.COMPLETE, 200, len(body))
    assert completion.inspection["withheld"] is False
    assert [entry["outcome"] for entry in completion.inspection["nlp"]] == ["clear", "clear"]


async def test_an_interim_answer_reaches_nobody(inspect, answer) -> None:
    running = await inspect()
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </" + MAIL.encode() + b">\r\n\r\n"
    received, raw, _ = await ask(running, answer, hints, plain(b"nothing to see"))
    assert (received.status, received.body) == (200, b"nothing to see")
    assert MAIL.encode() not in raw


@pytest.mark.parametrize("on_match", [OnMatch.DENY, OnMatch.REQUIRE_APPROVAL])
async def test_a_match_withholds(inspect, answer, on_match) -> None:
    running = await inspect(policy(on_match=on_match))
    body = f'{{"owner": "{MAIL}"}}'.encode()
    received, raw, completion = await ask(running, answer, plain(body, f"x-owner: {MAIL}"))
    error = error_of(received)
    assert MAIL.encode() not in raw
    assert error["details"]["action_id"] == "act_1"
    assert error["details"]["policies"][0] == {
        "policy_id": "nlp_addresses",
        "outcome": "match",
        "issues": ["email"],
        "error": None,
    }
    assert "No addresses: email" in error["message"]
    assert received.reason.startswith("Answer withheld act_1")
    assert (completion.ending, completion.status, completion.size_bytes) == (Ending.COMPLETE, 200, len(body))
    [entry] = completion.inspection["nlp"]
    assert (entry["decision"], entry["version"], entry["outcome"]) == ("withhold", 3, "match")
    assert completion.inspection["withheld"] is True
    assert MAIL not in json.dumps(completion.inspection)


async def test_a_tag_forwards_the_answer_as_it_came(inspect, answer) -> None:
    running = await inspect(policy(on_match=OnMatch.TAG))
    body = f'{{"owner": "{MAIL}"}}'.encode()
    received, _, completion = await ask(running, answer, plain(body))
    assert (received.status, received.body) == (200, body)
    [entry] = completion.inspection["nlp"]
    assert (completion.inspection["withheld"], entry["decision"], entry["tags"]) == (False, "tag", ["email"])


async def test_a_tag_withholds_what_cannot_be_inspected(inspect, answer) -> None:
    running = await inspect(policy(on_match=OnMatch.TAG))
    received, raw, _ = await ask(running, answer, plain(bytes(range(256)), f"x-owner: {MAIL}"))
    assert "cannot be opened" in error_of(received)["message"]
    assert MAIL.encode() not in raw


async def test_a_tag_and_another_policy(inspect, answer) -> None:
    running = await inspect(policy("Label addresses", on_match=OnMatch.TAG), SECRETS)
    received, raw, completion = await ask(running, answer, plain(f"{MAIL} {TOKEN}".encode()))
    assert [one["policy_id"] for one in error_of(received)["details"]["policies"]] == ["nlp_secrets"]
    assert TOKEN.encode() not in raw
    assert [entry["decision"] for entry in completion.inspection["nlp"]] == ["tag", "withhold"]


async def test_an_mcp_call_is_answered_in_json_rpc(inspect, answer) -> None:
    running = await inspect(mcp_id=7)
    received, raw, _ = await ask(running, answer, plain(f'{{"jsonrpc":"2.0","id":7,"result":"{MAIL}"}}'.encode()))
    body = json.loads(received.body)
    assert (received.status, body["id"], body["error"]["code"]) == (200, 7, -32000)
    assert body["error"]["data"]["error"]["code"] == "RESPONSE_WITHHELD"
    assert MAIL.encode() not in raw


ENCODED = {
    "gzip": gzip.compress(MAIL.encode()),
    "br": brotli.compress(MAIL.encode()),
    "zstd": zstandard.ZstdCompressor().compress(MAIL.encode()),
}
BOMB = {
    "gzip": gzip.compress(bytes(20_000_000)),
    "br": brotli.compress(bytes(20_000_000)),
    "zstd": zstandard.ZstdCompressor().compress(bytes(20_000_000)),
}


@pytest.mark.parametrize("coding", list(ENCODED))
async def test_a_coded_answer_is_read(inspect, answer, coding) -> None:
    running = await inspect()
    field = f"content-encoding: {coding}"
    assert "email" in error_of((await ask(running, answer, plain(ENCODED[coding], field)))[0])["message"]
    bomb = error_of((await ask(running, answer, plain(BOMB[coding], field)))[0])
    assert "decoded body is larger" in bomb["message"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([plain(b"x", "content-encoding: compress")], "content coding"),
        ([plain(gzip.compress(b"x"), "content-encoding: gzip, br")], "content coding"),
        ([plain(gzip.compress(b"x")[:-3], "content-encoding: gzip")], "ends early"),
        ([plain(b"plain", "content-encoding: gzip")], "not in the content coding"),
        ([plain(bytes(range(256)), "content-type: image/png")], "cannot be opened"),
        ([plain(b"+AG0-aria", "content-type: text/plain; charset=utf-7")], "character set"),
        ([plain(b"part", "content-range: bytes 0-3/10", status="206 Partial Content")], "206"),
        ([plain(b"part", status="206 Partial Content")], "206"),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n", b"x" * 1000], "larger than"),
        ([CHUNKED + b"text/plain\r\n\r\n", *[chunk(b"x" * 50_000)] * 30], "larger than"),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n" + chunk(b"x") + b"0\r\n\r\n"], "transfer"),
        ([b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n" + MAIL.encode()], "101"),
    ],
)
async def test_what_cannot_be_inspected_is_withheld_and_says_so(inspect, answer, script, why) -> None:
    running = await inspect()
    received, raw, completion = await ask(running, answer, *script)
    assert why in error_of(received)["message"]
    assert MAIL.encode() not in raw
    assert completion.ending is Ending.COMPLETE
    error = "unscannable" if why == "cannot be opened" else "not_inspected"
    assert {entry["error"] for entry in completion.inspection["nlp"]} == {error}
    assert raw.count(b"HTTP/1.1 ") == 2 or raw.count(b"HTTP/1.1 ") == 1


async def test_a_range_that_is_the_whole_is_inspected(inspect, answer) -> None:
    running = await inspect()
    partial = plain(b"hello", "content-range: bytes 0-4/5", status="206 Partial Content")
    assert (await ask(running, answer, partial))[0].body == b"hello"


@pytest.mark.parametrize(
    ("method", "script", "status"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\ncontent-encoding: zip\r\n", 200),
        ("GET", b"HTTP/1.1 204 No Content\r\n", 204),
        ("GET", b'HTTP/1.1 304 Not Modified\r\netag: "1"\r\n', 304),
    ],
)
async def test_an_answer_without_a_body(inspect, answer, method, script, status) -> None:
    running = await inspect()
    received, _, completion = await ask(running, answer, script + b"\r\n", method=method, wait_seconds=1)
    assert (received.status, completion.inspection["withheld"]) == (status, False)
    received, raw, completion = await ask(
        running, answer, script + f"location: /?q={MAIL}\r\n\r\n".encode(), method=method, wait_seconds=1
    )
    assert (received.status, completion.inspection["withheld"]) == (403, True)
    assert MAIL.encode() not in raw
    assert method != "HEAD" or received.body == b""


@pytest.mark.parametrize("size", [1, 7])
async def test_a_secret_that_arrives_in_many_chunks(inspect, answer, size) -> None:
    running = await inspect()
    text = f"token={TOKEN}".encode()
    chunks = [chunk(text[at : at + size]) for at in range(0, len(text), size)]
    received, raw, _ = await ask(running, answer, CHUNKED + b"text/plain\r\n\r\n", *chunks, b"0\r\n\r\n")
    assert "No secrets" in error_of(received)["message"]
    assert TOKEN.encode() not in raw


async def test_no_room_to_collect(inspect, answer) -> None:
    running = await inspect(requests=RequestLimits(buffered=1000))
    received, _, _ = await ask(running, answer, plain(b"x" * 5000))
    assert "as much of other bodies" in error_of(received)["message"]


@pytest.mark.parametrize("coding", ["", "gzip"])
async def test_no_room_for_what_an_answer_becomes_when_it_is_read(inspect, answer, coding) -> None:
    """Sixty kilobytes on the wire, or fewer, and two megabytes of objects."""
    running = await inspect(requests=RequestLimits(buffered=300_000))
    body = b"[0" + b",[]" * 20_000 + b"]"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    if coding:
        body, head = gzip.compress(body), head + b"content-encoding: gzip\r\n"
    received, _, _ = await ask(running, answer, head + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert "as much of other bodies" in error_of(received)["message"]
    received, _, _ = await ask(running, answer, plain(b"x" * 5000))
    assert received.status == 200
    await running.settled()
    assert running.gate.budget.used_bytes == 0


@pytest.mark.parametrize("last", [b"zz" + MAIL.encode() + b"\r\n", b"5\r\nonly\n\n\n"])
async def test_an_answer_that_breaks_off_says_nothing_of_it(inspect, answer, last) -> None:
    running = await inspect()
    script = [CHUNKED + b"text/plain\r\n\r\n", chunk(MAIL.encode()), last, b"\n\n\n"]
    received, raw, completion = await ask(running, answer, *script)
    assert received.status == 502
    assert MAIL.encode() not in raw
    assert completion.ending is Ending.BROKEN


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\nbad name: %b\r\n\r\n", b"HTTP/1.1 200 OK\r\n%b: 1\r\n\r\n", b"SSH-2.0-%b\r\n\r\n"],
)
async def test_a_head_that_is_wrong_is_not_quoted(inspect, answer, head) -> None:
    running = await inspect()
    received, raw, _ = await ask(running, answer, head % MAIL.encode(), b"\n\n\n")
    assert received.status == 502
    assert MAIL.encode() not in raw


@pytest.mark.parametrize("cause", [ValueError, MemoryError, asyncio.CancelledError, TimeoutError, StopAsyncIteration])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_policy_that_fails_withholds(inspect, answer, cause, stream) -> None:
    async def fails() -> list:
        await asyncio.sleep(0)
        raise cause()

    running = await inspect(asking=fails)
    script = [CHUNKED + b"text/event-stream\r\n\r\n", event("x"), b"0\r\n\r\n"] if stream else [plain(b"x")]
    received, _, completion = await ask(running, answer, *script)
    assert "the inspection failed" in error_of(received)["message"]
    assert completion.inspection["withheld"] is True


async def test_a_detector_that_takes_too_long(inspect, answer) -> None:
    running = await inspect(deadline_seconds=0.0001)
    received, _, completion = await ask(running, answer, plain(b"some text " * 5000))
    assert "could not be asked (timeout)" in error_of(received)["message"]
    assert completion.inspection["nlp"][0]["error"] == "timeout"


async def test_a_provider_that_is_not_there(inspect, answer) -> None:
    running = await inspect(policy(provider="openai_compatible", model="m"))
    received, _, completion = await ask(running, answer, plain(b"x"))
    assert "could not be asked (not_configured)" in error_of(received)["message"]
    assert completion.inspection["nlp"][0]["decision"] == "withhold"


async def test_the_status_line_is_looked_at(inspect, answer) -> None:
    running = await inspect()
    received, raw, _ = await ask(running, answer, plain(b"x", status=f"200 {MAIL}"))
    assert "email" in error_of(received)["message"]
    assert MAIL.encode() not in raw


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 100_000, 200),
        (b'{"a": 1, "a": "%b"}' % MAIL.encode(), 403),
        (b'{"%b": 1}' % MAIL.encode(), 403),
        (b"x" * 900_000 + b" " + MAIL.encode(), 403),
        (b"\x00" * 5000, 403),
        (b"1e999", 200),
        (b"", 200),
    ],
)
async def test_odd_bodies(inspect, answer, body, status) -> None:
    running = await inspect()
    received, raw, completion = await ask(running, answer, plain(body, "content-type: application/json"))
    assert received.status == status
    assert MAIL.encode() not in raw
    assert "failed" not in completion.inspection.get("reason", "")
